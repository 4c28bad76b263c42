import { type Bug, bug } from "./bug.ts";

const SETTLEMENT = "core/events/settlement.ts";
const INTAKE = "core/events/intake.ts";

export const CREDIT_BUGS: readonly Bug[] = [
  bug("a charge is booked under the id of its task", [
    INTAKE,
    "const { id, model, origin, registration, account, chargeId } = event;",
    "const { id, model, origin, registration, account } = event;\n  const chargeId = event.chargeId === null ? null : id;",
  ]),
  bug("the callback of a failure does not wait for the refund", [
    "core/events/finish.ts",
    "callback && !isRefunding(credits) ? release(callback, policy, now) : callback",
    "callback && release(callback, policy, now)",
  ]),
  bug("a refund without an answer counts as done", [
    SETTLEMENT,
    "if (event.isRefunded) {",
    "if (event.type) {",
  ]),
  bug("a charge without an answer counts as refused", [
    SETTLEMENT,
    '    case "unknown_account":\n',
    '    case "unknown":\n    case "unknown_account":\n',
  ]),
  bug("events reach a task whose charge is not known", [
    INTAKE,
    '  if (record.status === "charging") return CHARGING;\n  if (isOpen(record)) {',
    '  if (record.status === "charging" || isOpen(record)) {',
  ]),
  bug("completed tasks are refunded", [
    "core/events/finish.ts",
    'result.status === "failed" ? startRefund(task.credits, now) : task.credits',
    "startRefund(task.credits, now)",
  ]),
  bug("the ledger books a charge again", [
    "core/ledger.ts",
    "if (known !== null) {",
    "if (known !== null && wanted.kind === 'grant') {",
  ]),
  bug("a refund is refused while the balance is negative", [
    "core/ledger.ts",
    'case "charge":\n      return balance < 0',
    'case "charge":\n    case "refund":\n      return balance < 0',
  ]),
  bug("a call of a charge that was refused is booked when it comes late", [
    "account/refused-charges.ts",
    "return this.#answers.get(reference) ?? null;",
    "return reference === '' ? (this.#answers.get(reference) ?? null) : null;",
  ]),
  bug("a task that was charged belongs to nobody", [
    SETTLEMENT,
    "const task = { ...record, version, account, credits",
    "const task = { ...record, version, account: account && null, credits",
  ]),
  bug("the operator is told of a late refund at every try", [
    SETTLEMENT,
    "tried.retryAt <= limit && next.retryAt > limit",
    "next.retryAt > limit",
  ]),
];

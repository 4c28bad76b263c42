import type { Post } from "../../harness/receiver.ts";
import { type Attempt, isEarly, lengthFaults, recordFaults, stateFaults } from "../attempts.ts";
import { resultOf } from "../caller.ts";
import { countOf, type Entry, type Ledger, ledgerFaults } from "../ledger.ts";
import { type Finding, present, strangeIn } from "../witnessed.ts";
import { ACCOUNTS } from "./plan.ts";
import type { Evidence, ReadTask, Recording } from "./recording.ts";
import type { RecordedTask } from "./task-history.ts";

/** The wait before the second and every further attempt of a series. */
const WAIT_S = 1;
export const AUTOMATIC_ATTEMPTS = 3;
export const SCHEDULE_S = `0,${WAIT_S},${WAIT_S}`;

/** Lists what in a recording contradicts the promises about tasks, credits and callbacks. */
export function faultsIn(recording: Recording): readonly string[] {
  const { evidence, ledgers, tooEarly, genuine } = recording;
  const histories = evidence.map(({ history }) => history);
  return [
    ...evidence.flatMap((each) => taskFaults(each, genuine)),
    ...ledgers.flatMap((ledger) => accountFaults(ledger, histories)),
    ...tooEarly,
    ...strangeIn(recording),
  ];
}

/** Finds what the ledger of an account has besides what was ordered, or lacks of it. */
function accountFaults(ledger: Ledger, histories: readonly RecordedTask[]): readonly string[] {
  const { accountId, entries } = ledger;
  const ids = new Set(histories.map(({ id }) => id));
  const isOrdered = ({ kind, task_id: id }: Entry) =>
    kind === "grant" || (id !== undefined && ids.has(id));
  const grants = entries.filter(({ kind }) => kind === "grant");
  const granted = grants.map(({ reference, amount }) => `${reference} ${amount}`).toSorted();
  const requested = grantsOf(accountId, histories).toSorted();
  const isOther = granted.join() !== requested.join();
  return [...ledgerFaults(ledger, isOrdered), ...(isOther ? [`${accountId}: other grants`] : [])];
}

function grantsOf(accountId: string, histories: readonly RecordedTask[]): string[] {
  const opening = ACCOUNTS.find(({ id }) => id === accountId)?.grant ?? 0;
  const own = histories.filter(({ plan }) => plan.accountId === accountId && plan.grant > 0);
  return [`opening ${opening}`, ...own.map(({ plan }) => `${plan.path} ${plan.grant}`)];
}

/** Lists the facts about a task that contradict the promises. */
function taskFaults(evidence: Evidence, genuine: ReadonlySet<Post>): string[] {
  const { history, task, posts } = evidence;
  const { plan, state } = history;
  const exists = state === "created" && task !== null;
  const orderedPosts = history.orders.reduce((total, attempts) => total + attempts, 3);
  const findings: Finding[] = [
    ["accepted, and gone", state === "created" && task === null],
    ["refused or erased, and there", state !== "created" && task !== null],
    ["refused, and called back", state === "refused" && posts.length > 0],
    ...(exists ? resultFaults(history, task) : []),
    ...(exists ? callbackFaults(evidence, task) : []),
    ...(plan.credits === null ? [] : creditFaults(evidence)),
    ["more POSTs than ordered", posts.length > orderedPosts],
    ["another body", posts.some(({ body }) => !isBodyOf(evidence, body))],
    ["a callback that does not verify", posts.some((post) => !genuine.has(post))],
  ];
  const { nth, createdBy, ending } = plan;
  return [...history.faults, ...present(findings)].map((fault) => {
    return `${history.id} (nth ${nth}, ${createdBy}, ${ending?.result ?? "open"}): ${fault}`;
  });
}

/** Checks that the first accepted ending stays, and that no other one was ever shown. */
function resultFaults({ plan, accepted, refused, shown }: RecordedTask, task: ReadTask): Finding[] {
  const result = resultOf(task);
  const { ending, rival } = plan;
  const possible = [ending?.result, rival?.ending.result];
  return [
    ["two results were accepted", accepted.size > 1],
    ["another result than the accepted one", accepted.size > 0 && !accepted.has(result ?? "")],
    ["a result that was refused", result !== null && refused.has(result)],
    ["a result that was shown otherwise", [...shown].some((each) => each !== result)],
    ["a result that was never requested", result !== null && !possible.includes(result)],
    ["not ended", ending !== null && result === null],
  ];
}

/** Checks that the task was charged once, and refunded once if it failed. */
function creditFaults({ history, task, entries }: Evidence): Finding[] {
  const { state, plan, accepted } = history;
  const isPaid = state === "created" || state === "erased";
  const result = task === null ? [...accepted][0] : resultOf(task);
  const isFailure = isPaid && (result ?? "").startsWith("failed ");
  const { amount, state: shown } = task?.credits ?? {};
  return [
    ["not charged exactly once", countOf(entries, "charge") !== (isPaid ? 1 : 0)],
    ["wrong number of refunds", countOf(entries, "refund") !== (isFailure ? 1 : 0)],
    ["another price", entries.some((entry) => entry.amount !== plan.credits)],
    ["a refund of another charge", new Set(entries.map(({ reference }) => reference)).size > 1],
    ["another price shown", task !== null && amount !== plan.credits],
    ["other credits shown", task !== null && shown !== (isFailure ? "refunded" : "charged")],
  ];
}

/**
 * Compares a body byte by byte with the one that GET shows, or with the first POST of a task that no longer
 * exists.
 */
function isBodyOf({ text, posts }: Evidence, body: string): boolean {
  return text === null ? body === posts[0]?.body : text.startsWith(`${body.slice(0, -1)},`);
}

/** Compares the attempts of a task with its orders and with what its receiver saw. */
function callbackFaults({ history, posts }: Evidence, task: ReadTask): Finding[] {
  const { target, ending } = history.plan;
  const attempts = task.callback?.attempts ?? [];
  if (target === "none" || ending === null) {
    const status = target === "none" ? undefined : "waiting";
    return [
      ["a callback that is not due", task.callback?.status !== status],
      ["attempts without a reason", attempts.length + posts.length > 0],
    ];
  }
  const series = [...Map.groupBy(attempts, (attempt) => attempt.series)];
  return [
    ...stateFaults(task.callback),
    ["another number of series", series.length !== 1 + history.orders.length],
    ...recordFaults(attempts, posts),
    ...series.flatMap(([number, made]) =>
      seriesFaults(made, history.orders[number - 2] ?? AUTOMATIC_ATTEMPTS),
    ),
  ];
}

/** Checks that a series has the attempts that were ordered, and none before its time. */
function seriesFaults(made: readonly Attempt[], ordered: number): Finding[] {
  const isTooEarly = made.some((attempt, i) => {
    const before = made[i - 1];
    return before !== undefined && isEarly(before, attempt, WAIT_S);
  });
  return [...lengthFaults(made, ordered), ["an attempt before its time", isTooEarly]];
}

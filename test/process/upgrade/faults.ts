import { isDeepStrictEqual } from "node:util";
import { isSettled } from "../harness/client.ts";
import { isRedelivered } from "./task-run.ts";
import type { UpgradedTask } from "./operator.ts";
import type { Entry, Upgraded } from "./run.ts";

type Fault = readonly [name: string, isThere: boolean];

const MAX_ATTEMPTS = 3;
const ERRORS = { failed: "nsfw", canceled: "canceled", upstream_timeout: "upstream_timeout" };

/** Where the record of a task, its account's books and its receiver's contradict the promises. */
export function faultsOf(one: Upgraded, entries: readonly Entry[]): string[] {
  const { id, end, birth } = one.life;
  const booked = entries.filter(({ task_id }) => task_id === id);
  const faults = [...resultFaults(one), ...callbackFaults(one), ...moneyFaults(one, booked)];
  return faults.flatMap(([fault, isThere]) => (isThere ? [`${id} ${birth} ${end}: ${fault}`] : []));
}

/** Where the entries of an account contradict one another. */
export function bookFaults(entries: readonly Entry[]): string[] {
  let sum = 0;
  return entries.flatMap((entry) => {
    sum += entry.kind === "charge" ? -entry.amount : entry.amount;
    return sum === entry.balance ? [] : [`${sum} booked: ${JSON.stringify(entry)}`];
  });
}

function resultFaults({ life, task, contradicted, posts }: Upgraded): Fault[] {
  const isOpen = task.status === "pending" || task.status === "processing";
  const status = life.end === "completed" ? "completed" : "failed";
  const code = life.end === "completed" || life.end === "open" ? undefined : ERRORS[life.end];
  const body = resultOf(task);
  return [
    ["another end", life.end === "open" ? !isOpen : task.status !== status],
    ["another error", task.error?.code !== code],
    ["changed after its end", contradicted !== null && resultOf(contradicted) !== body],
    ["a body that is not the task", posts.some((post) => post.body !== body)],
  ];
}

function callbackFaults({ life, task, posts }: Upgraded): Fault[] {
  const { callback } = task;
  const attempts = callback?.attempts ?? [];
  const numbers = posts.map(numberOf);
  const automatic = attempts.filter(({ series }) => series === 1);
  const isSent = life.end !== "open" && life.callbackUrl !== null;
  const redelivered = attempts.length - automatic.length;
  return [
    ["no callback", life.callbackUrl !== null && callback === null],
    ["a callback that nobody wants", life.callbackUrl === null && callback !== null],
    ["sent before the end", !isSent && posts.length > 0],
    ["not settled", isSent && !isSettled(task)],
    ["more than three automatic attempts", automatic.length > MAX_ATTEMPTS],
    ["not redelivered once", redelivered !== (isRedelivered(life) ? 1 : 0)],
    ["numbers with a gap", attempts.some(({ number }, i) => number !== i + 1)],
    ["an attempt left open", attempts.some(({ outcome }) => outcome === undefined)],
    ["a number sent twice", new Set(numbers).size < numbers.length],
    ["a POST without a record", numbers.some((number) => number > attempts.length)],
    ["went on after a success", automatic.slice(0, -1).some(isSuccess)],
    ["given up too early", isSent && !automatic.some(isSuccess) && automatic.length < MAX_ATTEMPTS],
    ...attempts.map(({ number, outcome, status_code }): Fault => {
      const answered = posts.find((post) => numberOf(post) === number)?.answeredStatus;
      const isAnswer = outcome === "delivered" || outcome === "rejected";
      return [`a false ${outcome}`, isAnswer && answered !== status_code];
    }),
  ];
}

function moneyFaults({ life, task }: Upgraded, booked: readonly Entry[]): Fault[] {
  const isPriced = life.credits > 0;
  const isFailure = isPriced && life.end !== "completed" && life.end !== "open";
  const count = (kind: string) => booked.filter((entry) => entry.kind === kind).length;
  const shown = { amount: life.credits, state: isFailure ? "refunded" : "charged" };
  return [
    ["not charged exactly once", count("charge") !== (isPriced ? 1 : 0)],
    ["not refunded as it should be", count("refund") !== (isFailure ? 1 : 0)],
    ["another price", booked.some(({ amount }) => amount !== life.credits)],
    ["credits shown otherwise", isPriced && !isDeepStrictEqual(task.credits, shown)],
  ];
}

/** The callback body, as what is read of the task says it. */
function resultOf({ id, status, model, created_at, completed_at, output, error }: UpgradedTask) {
  return JSON.stringify({ id, status, model, created_at, completed_at, output, error });
}

function numberOf({ headers }: { readonly headers: Readonly<Record<string, string>> }): number {
  return Number(headers["x-attempt"]);
}

function isSuccess({ outcome }: { readonly outcome?: string | undefined }): boolean {
  return outcome === "delivered";
}

import type { Post } from "../harness/receiver.ts";
import type { Evidence, Finding, ReadTask } from "./task-faults.ts";

/** The wait before the second and every further attempt of a series. */
const WAIT_S = 1;
const AUTOMATIC_ATTEMPTS = 3;
export const SCHEDULE_S = `0,${WAIT_S},${WAIT_S}`;
/** Outcomes that are possible only when the receiver has answered in full. */
const ANSWERED = ["delivered", "rejected", "redirected"];

type Attempt = NonNullable<ReadTask["callback"]>["attempts"][number];

/** Compares the attempts of a task with its orders and with what its receiver saw. */
export function callbackFaults({ history, posts }: Evidence, task: ReadTask): Finding[] {
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
  const numbers = posts.map(numberOf);
  return [
    ...stateFaults(task),
    ["another number of series", series.length !== 1 + history.orders.length],
    ["a number sent twice", new Set(numbers).size < posts.length],
    ["a POST without a record", numbers.some((number) => attempts[number - 1] === undefined)],
    ...series.flatMap(([number, made]) =>
      seriesFaults(made, history.orders[number - 2] ?? AUTOMATIC_ATTEMPTS),
    ),
    ...attempts.map((attempt): Finding => [`a false ${attempt.outcome}`, isFalse(attempt, posts)]),
  ];
}

/** Checks that the callback is delivered or failed, as its last attempt says, and that no attempt is due. */
function stateFaults({ callback }: ReadTask): Finding[] {
  if (callback === null) return [["no callback", true]];
  const { status, attempts, delivered_at, next_attempt_at } = callback;
  const end = attempts.at(-1)?.outcome === "delivered" ? "delivered" : "failed";
  return [
    [`a callback that is ${status}`, status !== end],
    ["an attempt left open", attempts.some(({ outcome }) => outcome === undefined)],
    ["an attempt blocked", attempts.some(({ outcome }) => outcome === "blocked")],
    ["numbers with a gap", attempts.some(({ number }, i) => number !== i + 1)],
    ["a wrong delivered_at", attempts.some(isSuccess) === (delivered_at === undefined)],
    ["a further attempt is due", next_attempt_at !== undefined],
  ];
}

/** Checks that a series ends with its first success or its last ordered attempt. */
function seriesFaults(made: readonly Attempt[], ordered: number): Finding[] {
  return [
    ["more attempts than ordered", made.length > ordered],
    ["went on after a success", made.slice(0, -1).some(isSuccess)],
    ["gave up too early", !made.some(isSuccess) && made.length < ordered],
    ["an attempt before its time", made.some((attempt, i) => isEarly(made[i - 1], attempt))],
  ];
}

// `started_at` is in whole seconds.
function isEarly(before: Attempt | undefined, { started_at }: Attempt): boolean {
  if (before === undefined) return false;
  return started_at < before.started_at + Math.floor((before.duration_ms ?? 0) / 1000) + WAIT_S;
}

/** Tells whether the record of an attempt has an answer that the receiver did not give. */
function isFalse({ number, outcome = "", status_code }: Attempt, posts: readonly Post[]): boolean {
  if (!ANSWERED.includes(outcome)) return false;
  const answered = posts.find((post) => numberOf(post) === number)?.answeredStatus;
  return answered !== status_code || outcomeOf(status_code) !== outcome;
}

function outcomeOf(status = 0): string {
  if (status >= 200 && status < 300) return "delivered";
  return status >= 300 && status < 400 ? "redirected" : "rejected";
}

function isSuccess({ outcome }: Attempt): boolean {
  return outcome === "delivered";
}

function numberOf({ headers }: Post): number {
  return Number(headers["x-attempt"]);
}

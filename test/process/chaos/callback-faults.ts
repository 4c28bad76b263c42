import type { Finding, Read, Remembered } from "./evidence.ts";
import type { Post } from "../harness/receiver.ts";

/** Before the second and every further attempt of a series; the first is made at once. */
const WAIT_S = 1;
const AUTOMATIC_ATTEMPTS = 3;
export const SCHEDULE_S = `0,${WAIT_S},${WAIT_S}`;
/** Outcomes of an answer that the receiver gave in full. */
const ANSWERED = ["delivered", "rejected", "redirected"];

type Attempt = NonNullable<Read["callback"]>["attempts"][number];

/** Where the attempts of a task contradict its orders, or the ledger of its receiver. */
export function callbackFaults({ story, posts }: Remembered, task: Read): Finding[] {
  const { target, word } = story.plan;
  const isSent = target !== "none" && word !== null;
  const attempts = task.callback?.attempts ?? [];
  if (!isSent) {
    const status = target === "none" ? undefined : "waiting";
    return [
      ["a callback that is not due", task.callback?.status !== status],
      ["attempts that nobody wanted", attempts.length + posts.length > 0],
    ];
  }
  const groups = [...Map.groupBy(attempts, ({ series }) => series)];
  const numbers = posts.map(numberOf);
  return [
    ...restFaults(task),
    ["another number of series", groups.length !== 1 + story.orders.length],
    ["a number sent twice", new Set(numbers).size < posts.length],
    ["a POST without a record", numbers.some((number) => attempts[number - 1] === undefined)],
    ...groups.flatMap(([series, made]) =>
      seriesFaults(made, story.orders[series - 2] ?? AUTOMATIC_ATTEMPTS),
    ),
    ...attempts.map((attempt): Finding => [`a false ${attempt.outcome}`, isFalse(attempt, posts)]),
  ];
}

/** Delivered or failed, as the last attempt says, and nothing after it. */
function restFaults({ callback }: Read): Finding[] {
  if (callback === null) return [["no callback", true]];
  const { status, attempts, delivered_at, next_attempt_at } = callback;
  const end = attempts.at(-1)?.outcome === "delivered" ? "delivered" : "failed";
  return [
    [`a callback that is ${status}`, status !== end],
    ["an attempt left open", attempts.some(({ outcome }) => outcome === undefined)],
    ["an attempt blocked", attempts.some(({ outcome }) => outcome === "blocked")],
    ["numbers with a gap", attempts.some(({ number }, i) => number !== i + 1)],
    [
      "a time of delivery too many or few",
      attempts.some(isSuccess) === (delivered_at === undefined),
    ],
    ["a further attempt is due", next_attempt_at !== undefined],
  ];
}

/** A series ends with its first success, or with the last attempt that was ordered. */
function seriesFaults(made: readonly Attempt[], ordered: number): Finding[] {
  return [
    ["more attempts than ordered", made.length > ordered],
    ["went on after a success", made.slice(0, -1).some(isSuccess)],
    ["gave up too early", !made.some(isSuccess) && made.length < ordered],
    ["an attempt before its time", made.some((attempt, i) => isEarly(made[i - 1], attempt))],
  ];
}

// `started_at` is the second in which it started.
function isEarly(before: Attempt | undefined, { started_at }: Attempt): boolean {
  if (before === undefined) return false;
  return started_at < before.started_at + Math.floor((before.duration_ms ?? 0) / 1000) + WAIT_S;
}

/** An answer that the receiver has not given. */
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

import type { Task } from "../harness/client.ts";
import type { Post } from "../harness/receiver.ts";
import type { Finding } from "./witnessed.ts";

/** Outcomes that are possible only when the receiver has answered in full. */
const ANSWERED = ["delivered", "rejected", "redirected"];

type Callback = NonNullable<Task["callback"]>;
export type Attempt = Callback["attempts"][number];

/** Checks that a callback is delivered or failed, as its last attempt says, and that no attempt is due. */
export function stateFaults(callback: Callback | null): Finding[] {
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
export function lengthFaults(made: readonly Attempt[], ordered: number): Finding[] {
  return [
    ["more attempts than ordered", made.length > ordered],
    ["went on after a success", made.slice(0, -1).some(isSuccess)],
    ["gave up too early", !made.some(isSuccess) && made.length < ordered],
  ];
}

/** Compares attempts, as the relay has recorded them, with the posts that the receiver has got. */
export function recordFaults(attempts: readonly Attempt[], posts: readonly Post[]): Finding[] {
  const numbers = posts.map(numberOf);
  return [
    ["a number sent twice", new Set(numbers).size < posts.length],
    ["a POST without a record", numbers.some((number) => attempts[number - 1] === undefined)],
    ...attempts.map((attempt): Finding => [`a false ${attempt.outcome}`, isFalse(attempt, posts)]),
  ];
}

/** Tells whether an attempt began less than `waitS` seconds after the end of the one before. */
export function isEarly(before: Attempt, { started_at }: Attempt, waitS: number): boolean {
  // `started_at` is in whole seconds.
  return started_at < before.started_at + Math.floor((before.duration_ms ?? 0) / 1000) + waitS;
}

function isSuccess({ outcome }: Attempt): boolean {
  return outcome === "delivered";
}

/** Returns the number of the attempt that a post belongs to. */
export function numberOf({ headers }: Post): number {
  return Number(headers["x-attempt"]);
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

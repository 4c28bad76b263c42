import type { Decision } from "../../src/core/events/decision.ts";
import type { PollAnswer } from "../../src/core/events/event.ts";
import type { TaskRecord } from "../../src/core/record/task.ts";
import { MINUTE } from "../core/builders.ts";
import type { OutsideEvent } from "./moves.ts";
import type { SimulatedLedger } from "./ledger.ts";
import type { SimulatedObject } from "./simulated-object.ts";
import type { Submitters } from "./submitters.ts";
import type { UpstreamJobs } from "./upstream-jobs.ts";
import type { Setting } from "./setting.ts";
import type { TaskHistory } from "./task-history.ts";

/** Answer of the upstream, and when the poll was sent; Unix milliseconds. */
export interface PollResult {
  readonly answer: PollAnswer;
  readonly askedAt: number;
  /** True when a client has read the job, with a key of its own; false for a poll of the relay. */
  readonly isOfRead: boolean;
}

/**
 * Returns a result that may have led to a commit at `now`; null for an older one. An answer without news
 * commits nothing, so a much later commit has another cause.
 */
export function recentResult(result: PollResult | null, now: number): PollResult | null {
  return result !== null && now - result.askedAt < MINUTE ? result : null;
}

/** One commit with the facts around it. */
export interface Change<B extends TaskRecord | null = TaskRecord | null, A = TaskRecord> {
  readonly before: B;
  readonly after: A;
  /** Time of the work loop's clock, in Unix milliseconds. */
  readonly now: number;
  readonly setting: Setting;
  readonly history: TaskHistory;
  readonly ledger: SimulatedLedger;
  readonly submitters: Submitters;
  readonly jobs: UpstreamJobs;
  /** Instance of the object that commits. */
  readonly instance: SimulatedObject;
  /** States that the storage has failed, so that an answer may not have been stored. */
  readonly hadFault: boolean;
  /** Poll whose answer led to this commit; null when something else did. */
  readonly pollResult: PollResult | null;
  /** Time for which the work that led to this commit was planned, in Unix milliseconds. */
  readonly plannedAt: number;
}

/** An event for the relay, and its effect in the same turn. */
export interface Answer {
  readonly event: OutsideEvent;
  readonly before: TaskRecord | null;
  readonly after: TaskRecord | null;
  readonly commits: readonly TaskRecord[];
  readonly decision: Decision;
  readonly setting: Setting;
  /** Time in Unix milliseconds. */
  readonly now: number;
}

/** Texts of rules, and whether each rule holds. */
export type Rules = Readonly<Record<string, boolean>>;

/** Returns the text of the first rule that does not hold; null when all hold. */
export function firstViolation(rules: Rules): string | null {
  for (const text in rules) if (rules[text] !== true) return text;
  return null;
}

/**
 * Returns whether two values of a record are equal. The members of objects may have any order: a record that
 * was read again has them in that of its schema. A member that is undefined is another than a missing one.
 */
export function isEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (!isObject(a) || !isObject(b) || Array.isArray(a) !== Array.isArray(b)) return false;
  const names = Object.keys(a);
  if (names.length !== Object.keys(b).length) return false;
  for (const name of names) {
    if (a[name] !== b[name] && !isEqual(a[name], b[name])) return false;
    if (!Object.hasOwn(b, name)) return false;
  }
  return true;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

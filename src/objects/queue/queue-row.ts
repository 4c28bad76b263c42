import type { Retry } from "../../core/record/retry.ts";
import { MINUTE_MS } from "../../core/time.ts";

/** What says which submission asks for a place of a connection, and since when. */
export interface PlaceOrder {
  /** Random id of the submission, after which the object of its call is named. */
  readonly submissionId: string;
  readonly taskId: string;
  /** Account that pays for the task. Null for tasks of the operator, which count as those of one account. */
  readonly account: string | null;
  /** Name of the connection or pool to which the submission is addressed. */
  readonly via: string;
  /** Number of the sending of the call, from 1. */
  readonly attempt: number;
  /** Time from which the submission has waited, in Unix milliseconds. */
  readonly since: number;
}

/** A submission that has a place: its call is told of it, and its task is asked whether it needs the place. */
export type Holder = Pick<PlaceOrder, "submissionId" | "taskId" | "attempt">;

/** The place of a submission, about which its task is asked. */
export interface HeldPlace {
  readonly submissionId: string;
  readonly connection: string;
  /** Number of the attempt that has the place. Absent when the present one is meant. */
  readonly attempt?: number;
}

/** The place that the call of a submission has got. */
export interface GrantedPlace {
  readonly connection: string;
  readonly attempt: number;
}

/** Answer of a call that has got a place: it takes the place, or does not need it (any more). */
export type GrantAnswer = "taken" | "gone";

/** A submission at a connection: it waits for one of the places, or has one. */
export interface QueueRow extends PlaceOrder {
  readonly state: RowState;
}

export type RowState =
  | { readonly kind: "waiting" }
  /** The submission has a place, and the object of its call is being told. */
  | {
      readonly kind: "granted";
      /** Time of the grant, in Unix milliseconds. */
      readonly at: number;
      /** Time at which the object of the call is told again, and how often it was told without an answer. */
      readonly tell: Retry;
    }
  /** The submission has a place, and knows it. */
  | {
      readonly kind: "held";
      readonly at: number;
      /** Time from which the task is asked whether it still needs the place, in Unix milliseconds. */
      readonly askAt: number;
    };

/** Time in milliseconds after which a task is asked for the first time whether it needs its place. */
export const HOLD_MS = 10 * MINUTE_MS;
/** The same for a place that was free at once: the Worker may have failed before it has registered the task. */
export const UNREGISTERED_MS = MINUTE_MS;
/**
 * Time in milliseconds after the question for a place for which the queue certainly keeps it. Whoever finds out later than
 * this that the task is registered asks again, because the queue may have asked for the task before.
 */
const KEPT_MS = UNREGISTERED_MS / 2;

/**
 * Returns the state of a stored row. It is not stored whether a call has confirmed its place, nor when a task was last
 * asked: calls are told again for some minutes after the grant, and tasks are asked.
 */
export function restoredState(kind: RowState["kind"], grantedAt: number, now: number): RowState {
  if (kind === "waiting") return { kind };
  const at = Math.min(grantedAt, now);
  if (kind === "held") return { kind, at, askAt: at + UNREGISTERED_MS };
  if (at + HOLD_MS <= now) return { kind: "held", at, askAt: at + HOLD_MS };
  return { kind, at, tell: { retryAt: now, tries: 1 } };
}

/**
 * Tells whether a place is certainly kept for a submission whose task has just been found to be registered.
 * @param since time before the question for the place, in Unix milliseconds.
 */
export function isCertainlyKept(since: number, now: number): boolean {
  // The clock may have been put back.
  return Math.abs(now - since) < KEPT_MS;
}

/** Orders submissions by how long they have waited, the longest first. */
export function compareRows(a: PlaceOrder, b: PlaceOrder): number {
  if (a.since !== b.since) return a.since - b.since;
  if (a.submissionId === b.submissionId) return 0;
  return a.submissionId < b.submissionId ? -1 : 1;
}

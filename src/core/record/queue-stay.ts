import type { Retry } from "./retry.ts";
import type { RefusalClass } from "./refusal.ts";

/**
 * The stay of a submission in the queues of its connections. Each of them permits a limited number of jobs in flight,
 * and gives a place to one submission after the other (objects/queue).
 */
export interface QueueStay {
  /** Names of the connections in whose queues the submission may wait or hold a place. */
  readonly connections: readonly string[];
  /** Number of the attempt that waits to be sent or was sent last, from 1. A refused attempt is followed by another. */
  readonly attempt: number;
  /** Time from which no further attempt of a call that may wait is sent, in Unix milliseconds. */
  readonly startBy: number;
  /**
   * Plan of the next order to leave the queues. It is planned when the task no longer needs a place
   * (`withLeavePlanned`), and has no effect before.
   */
  readonly leave: Retry;
}

/** Reasons for which a submission waits in a queue. */
export const QUEUE_CAUSES = ["no_place", "upstream_refused"] as const;
type QueueCause = (typeof QUEUE_CAUSES)[number];

/** Where a submission stands in a queue. */
export interface QueuePosition {
  /** Number in the order of the next grants, from 1. */
  readonly position: number;
  /** Why it waits: no place is free, or the upstream has refused calls and gets none for a while. */
  readonly cause: QueueCause;
}

/** An attempt to send the call of a submission that the upstream has refused and that has started nothing. */
export interface RefusedAttempt {
  /** Name of the connection that the attempt used. */
  readonly connection: string;
  readonly at: number;
  readonly statusCode: number;
  readonly refusal: RefusalClass;
}

/** Largest number of refused attempts that a submission stores: the latest ones. */
export const MAX_REFUSED_ATTEMPTS = 20;

/** Returns the beginning of a stay in queues. Null for a connection whose jobs are not limited. */
export function startStay(
  connections: readonly string[] | undefined,
  startBy: number,
): QueueStay | null {
  if (connections === undefined || connections.length === 0) return null;
  return { connections, attempt: 1, startBy, leave: { retryAt: 0, tries: 0 } };
}

import { backoff } from "../backoff.ts";
import { HOUR_MS, SECOND_MS } from "../time.ts";
import type { Retry } from "./credits.ts";

/** The state of the task's row in the index, and the plan of the next write after a failed one. */
export interface Publication extends Retry {
  /** Version of the task in the row that was written last; 0 when no row was written. */
  readonly version: number;
}

export const UNPUBLISHED: Publication = { version: 0, retryAt: 0, tries: 0 };

const FIRST_RETRY_MS = 5 * SECOND_MS;
/**
 * Longest wait between two writes, because each retry of each task costs a written row during an outage of
 * days.
 */
const MAX_RETRY_MS = 6 * HOUR_MS;

export function markPublished(publication: Publication, version: number): Publication {
  return { ...UNPUBLISHED, version: Math.max(version, publication.version) };
}

/** Plans the next write of a row after a write that was not confirmed. */
export function planRewrite(publication: Publication, now: number): Publication {
  const waitMs = backoff(FIRST_RETRY_MS, publication.tries, MAX_RETRY_MS);
  return { ...publication, retryAt: now + waitMs, tries: publication.tries + 1 };
}

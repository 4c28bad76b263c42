import { backoff } from "../backoff.ts";
import { HOUR_MS, SECOND_MS } from "../time.ts";
import type { Retry } from "./credits.ts";

/** The state of the task's row in the index. */
export interface Publication extends Retry {
  /** Version of the row that was written last; 0 when none was. */
  readonly version: number;
}

export const UNPUBLISHED: Publication = { version: 0, retryAt: 0, tries: 0 };

const FIRST_RETRY_MS = 5 * SECOND_MS;
/** Long, because every retry costs each task a written row while the index is away for days. */
const MAX_RETRY_MS = 6 * HOUR_MS;

export function markPublished(publication: Publication, version: number): Publication {
  return { ...UNPUBLISHED, version: Math.max(version, publication.version) };
}

/** Plans the next write after one that was not confirmed. */
export function planRewrite(publication: Publication, now: number): Publication {
  const waitMs = backoff(FIRST_RETRY_MS, publication.tries, MAX_RETRY_MS);
  return { ...publication, retryAt: now + waitMs, tries: publication.tries + 1 };
}

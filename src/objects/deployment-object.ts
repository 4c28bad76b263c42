import { retryable } from "cloudflare:durable-objects";
import { DurableObject } from "cloudflare:workers";
import { AlertSlots } from "./alert-slots.ts";

/**
 * Kind of an alert to the operator about the index. An alert of one kind does not delay an alert of another kind.
 * - `lagging`: tasks are overdue.
 * - `uncounted`: the hourly counts are out of date.
 * - `full`: a database is almost full.
 * - `silent`: no task has ended for some time.
 */
export type IndexAlert = "lagging" | "uncounted" | "full" | "silent";

const PREFIX = "session:";
/**
 * Largest number of expired entries about ended sessions that one logout erases. Logouts erase such entries so that the
 * storage does not grow.
 */
const MAX_ERASED = 100;

/**
 * Durable Object of the whole deployment: there is one, `deployment` (binding `DEPLOYMENT`). It stores two kinds of
 * unrelated data, which are in one class because each exists once, is seldom used and needs no alarm.
 *
 * - Sessions of the console that have ended before their time, because somebody has logged out (`session:<end>:<id>`),
 *   so that a copy of the session's cookie is worth nothing. Each entry is erased by a later logout, after the time at
 *   which the session would have ended anyway. `console/session/session.ts` stores a logout, and each isolate asks
 *   about a session at most once a minute.
 * - Times of the last alerts about the index (`alerted_at:<kind>`). The cron trigger asks for them every ten minutes,
 *   and only while something is wrong (`cron.ts`).
 */
export class DeploymentObject extends DurableObject<object> {
  static {
    // The platform may repeat these calls after a lost connection, because a second call changes nothing more.
    for (const name of ["endSession", "isSessionEnded"] as const) retryable(this.prototype[name]);
  }

  readonly #alerts = new AlertSlots(this.ctx.storage.kv);

  /**
   * Ends a session of the console before its time, because somebody has logged out.
   * @param until time at which the session would have expired, in Unix milliseconds.
   */
  endSession(id: string, until: number): void {
    const { kv } = this.ctx.storage;
    const now = Date.now();
    // The keys begin with the time, so that those of the past come first.
    const past = { prefix: PREFIX, end: keyOf("", now), limit: MAX_ERASED };
    for (const [key] of Array.from(kv.list(past))) kv.delete(key);
    if (until > now) kv.put(keyOf(id, until), true);
  }

  isSessionEnded(id: string, until: number): boolean {
    return this.ctx.storage.kv.get(keyOf(id, until)) !== undefined;
  }

  /**
   * Asks for permission to alert the operator of a fault of the index now, and stores that the alert is sent.
   * @returns true when the caller must send the alert, because none of this kind was sent within the last hour.
   */
  claimAlert(kind: IndexAlert): boolean {
    return this.#alerts.claim(Date.now(), kind);
  }
}

function keyOf(id: string, until: number): string {
  return `${PREFIX}${until}:${id}`;
}

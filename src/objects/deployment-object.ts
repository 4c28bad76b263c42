import { retryable } from "cloudflare:durable-objects";
import { DurableObject } from "cloudflare:workers";
import { type HostPause, MAX_PAUSES } from "../core/plans/host-pause.ts";
import { AlertSlots } from "./alert-slots.ts";

/**
 * Kind of an alert to the operator about the index. An alert of one kind does not delay an alert of another kind.
 * - `lagging`: tasks are overdue.
 * - `uncounted`: the hourly counts are out of date.
 * - `full`: a database is almost full.
 * - `silent`: no task has ended for some time.
 */
export type IndexAlert = "lagging" | "uncounted" | "full" | "silent";

const PAUSE_PREFIX = "pause:";
const PREFIX = "session:";
/**
 * Largest number of expired entries about ended sessions that one logout erases. Logouts erase such entries so that the
 * storage does not grow.
 */
const MAX_ERASED = 100;

/**
 * Durable Object of the whole deployment: there is one, `deployment` (binding `DEPLOYMENT`). It stores three kinds
 * of unrelated data, which are in one class because each exists once, is small and needs no alarm.
 *
 * - Sessions of the console that have ended before their time, because somebody has logged out (`session:<end>:<id>`),
 *   so that a copy of the session's cookie is worth nothing. Each entry is erased by a later logout, after the time at
 *   which the session would have ended anyway. `console/session/session.ts` stores a logout, and each isolate asks
 *   about a session at most once a minute.
 * - Paused hosts of receivers (`pause:<host>`). `api/hosts/pause-host.ts` stores a pause. Each isolate that starts attempts
 *   of callbacks reads all of them at most once in eight seconds (`host-pauses.ts`); while nothing is paused, it reads no
 *   row. Pauses that are over are erased by a later order.
 * - Times of the last alerts about the index (`alerted_at:<kind>`). The cron trigger asks for them every ten minutes,
 *   and only while something is wrong (`cron.ts`).
 */
export class DeploymentObject extends DurableObject<object> {
  static {
    // The platform may repeat these calls after a lost connection, because a second call changes nothing more.
    for (const name of [
      "endSession",
      "isSessionEnded",
      "hostPauses",
      "pauseHost",
      "resumeHost",
    ] as const)
      retryable(this.prototype[name]);
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

  /** Returns the hosts that are paused now. */
  hostPauses(): readonly HostPause[] {
    const now = Date.now();
    return this.#pauses().filter(({ until }) => until > now);
  }

  /**
   * Pauses a host, or moves the end of its pause.
   * @returns false when too many hosts are paused already.
   */
  pauseHost(pause: HostPause): boolean {
    const { kv } = this.ctx.storage;
    const now = Date.now();
    const { over = [], present = [] } = Object.groupBy(this.#pauses(), ({ until }) =>
      until <= now ? "over" : "present",
    );
    const isNew = present.every(({ host }) => host !== pause.host);
    if (isNew && present.length >= MAX_PAUSES) return false;
    for (const { host } of over) kv.delete(PAUSE_PREFIX + host);
    kv.put(PAUSE_PREFIX + pause.host, pause);
    return true;
  }

  /** Ends the pause of a host. */
  resumeHost(host: string): void {
    this.ctx.storage.kv.delete(PAUSE_PREFIX + host);
  }

  /** Returns the stored pauses, also those that are over. */
  #pauses(): readonly HostPause[] {
    const entries = this.ctx.storage.kv.list<HostPause>({ prefix: PAUSE_PREFIX });
    return Array.from(entries, ([, pause]) => pause);
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

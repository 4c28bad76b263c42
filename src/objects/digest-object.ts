import { DurableObject } from "cloudflare:workers";
import { isWanted } from "../config/operator-events.ts";
import type { Runtime, WithStartup } from "../config/runtime.ts";
import { MINUTE_MS, toSeconds } from "../core/time.ts";
import { log } from "../lib/log.ts";
import { sendOperatorEvent } from "../outbound/webhooks.ts";
import { type FailedCallbacks, merged } from "./failed-callback-batches.ts";

/**
 * Collection of tasks whose callbacks to one host have failed. The collected tasks are sent to the operator in one
 * event, i.e. in one message to `OPERATOR_CALLBACK_URL`. Tasks are added to it for a fixed time after the first one.
 */
interface Digest extends FailedCallbacks {
  readonly host: string;
  /** Time at which the first task with a failed callback was added, in Unix milliseconds. */
  readonly since: number;
  /** Time at which the operator is to get the collected tasks in one event, in Unix milliseconds. */
  readonly dueAt: number;
  /** Number of failed tries to send the collected tasks to the operator. */
  readonly tries: number;
}

/**
 * Storage keys of two collections of tasks whose callbacks have failed: the one to which tasks are still added
 * (`OPEN`), and the one that is being sent to the operator (`CLOSED`).
 */
const OPEN = "digest";
const CLOSED = "digest_closed";
const MAX_TRIES = 10;

/**
 * Durable Object that collects the failed callbacks to one receiver's host, named after the host (binding `DIGESTS`).
 * The operator then gets one event about many failed callbacks.
 *
 * It stores two collections ("digests"): the one to which tasks are still added (`digest`), and the one that is being
 * sent (`digest_closed`). When the alarm has sent both, the object erases itself.
 *
 * Called by task objects (`objects/task/alerts.ts`) with all tasks whose callbacks to this host have failed for good,
 * at most twice in three seconds by each isolate. It is called only if `OPERATOR_DIGEST_MINUTES` is set.
 */
export class DigestObject extends DurableObject<WithStartup> {
  /**
   * Adds tasks to the digest, i.e. to the collection of failed callbacks that the operator gets in one event. A task
   * that is in the digest already is not counted again.
   * @param periodMs time from the first task of a digest to its operator event, in milliseconds.
   * @returns always true. A caller that gets it knows that the tasks are stored.
   */
  async noteFailedCallbacks(host: string, added: FailedCallbacks, periodMs: number): Promise<true> {
    const now = Date.now();
    const { storage } = this.ctx;
    const begun = { host, since: now, dueAt: now + periodMs, failed: 0, tasks: [], tries: 0 };
    const known = this.#read(OPEN) ?? begun;
    const all = merged(known, added);
    if (all.failed > known.failed) storage.kv.put(OPEN, { ...known, ...all });
    if ((await storage.getAlarm()) === null) await storage.setAlarm(known.dueAt);
    return true;
  }

  /**
   * Sends the operator one event with all tasks of the digest (the collection of failed callbacks). Tasks that are
   * added from then on go into a new digest. A failed try is repeated after a minute, at most nine times. The object is
   * erased when no digest is left. While the configuration is not valid, the alarm is repeated after a minute; this
   * does not count as a try.
   */
  override async alarm(): Promise<void> {
    const { runtime } = this.env.startup;
    if (runtime.ok) await this.#send(runtime.value);
    else await this.ctx.storage.setAlarm(Date.now() + MINUTE_MS);
  }

  async #send(runtime: Runtime): Promise<void> {
    const { storage } = this.ctx;
    const { kv } = storage;
    const closed = this.#read(CLOSED) ?? this.#read(OPEN);
    if (closed === null) return;
    if (this.#read(CLOSED) === null) {
      kv.put(CLOSED, closed);
      kv.delete(OPEN);
    }
    const isDone = (await isSent(closed, runtime)) || closed.tries + 1 >= MAX_TRIES;
    if (isDone) kv.delete(CLOSED);
    else kv.put(CLOSED, { ...closed, tries: closed.tries + 1 });
    const nextAt = isDone ? this.#read(OPEN)?.dueAt : Date.now() + MINUTE_MS;
    if (nextAt === undefined) await storage.deleteAll();
    else await storage.setAlarm(nextAt);
  }

  #read(key: string): Digest | null {
    return this.ctx.storage.kv.get<Digest>(key) ?? null;
  }
}

/**
 * Sends the operator one event with all tasks of a digest (a collection of failed callbacks), if the operator wants
 * such events.
 * @returns true when no further try is needed.
 */
async function isSent(digest: Digest, runtime: Runtime): Promise<boolean> {
  const { host, since, failed, tasks } = digest;
  const type = "callback.failed";
  if (!isWanted(runtime.config, type)) {
    log({ event: "operator.dropped", type, host, failed }, "warn");
    return true;
  }
  const event = { type, host, since: toSeconds(since), failed, tasks } as const;
  return sendOperatorEvent(event, `${type}_${host}_${since}`, Date.now(), runtime);
}

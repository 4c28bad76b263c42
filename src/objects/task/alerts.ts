import {
  type ObjectNamespaces,
  connectionObject,
  digestObject,
  hostObject,
} from "../object-names.ts";
import { type UnclearAnswer, UNCLEAR_PAUSE_MS } from "../connection/connection-object.ts";
import { isWanted } from "../../config/operator-events.ts";
import type { Runtime } from "../../config/runtime.ts";
import type { Delivery } from "../../core/duties/callback-attempt.ts";
import type { PollAnswer } from "../../core/events/event.ts";
import type { Poll } from "../../core/duties/poll.ts";
import { hostOf } from "../../core/url.ts";
import { isolateCache } from "../../isolate-cache.ts";
import { log } from "../../log.ts";
import type { OperatorEvent } from "../../outbound/operator-body.ts";
import { sendOperatorEvent } from "../../outbound/webhooks.ts";
import { withTimeout } from "../../timeout.ts";
import { FailedCallbackBatches } from "../failed-callback-batches.ts";
import { FaultNotes } from "./fault-notes.ts";

/**
 * Faults that this isolate has met: failed callback attempts, counted for each receiver's host, and refusals
 * of an API key, counted for each connection.
 */
const notes = new FaultNotes();
/** Tasks whose callbacks have failed for good in this isolate and are not in the digest of their host yet. */
const batches = new FailedCallbackBatches();
/**
 * Names of the connections to whose Durable Object this isolate has reported in the last hour that an answer of
 * the provider was not understood.
 */
const recentlyUnclear = isolateCache<true>(1_000, UNCLEAR_PAUSE_MS);

/**
 * Alerts the operator of faults that concern many tasks: a provider that refuses the API key of a connection,
 * or a receiver's host that keeps failing. Each connection and each host has an object of its own
 * (`src/objects`) that permits the alert, so that one message is sent and not one for every task. When the
 * call to that object fails, only this alert is not sent.
 */
export class Alerts {
  readonly #bindings: ObjectNamespaces;
  readonly #timeoutMs: number;

  /**
   * Creates the sender of alerts for one task object.
   * @param timeoutMs time limit in milliseconds for one call to such an object.
   */
  constructor(bindings: ObjectNamespaces, timeoutMs: number) {
    this.#bindings = bindings;
    this.#timeoutMs = timeoutMs;
  }

  /**
   * Handles an answer to a poll that the operator should know of: alerts the operator when the provider has
   * refused the API key, and stores an answer that was not understood, so that `/healthz` shows it.
   */
  async reportAnswer(poll: Poll, answer: PollAnswer, runtime: Runtime): Promise<void> {
    if (answer.kind === "unauthorized") await this.#reportRefusedKey(poll, runtime);
    // A provider is not at fault when its answer about a job that only a hook has named does not name the
    // task.
    if (answer.kind === "unclear" && poll.purpose !== "kept_job") {
      await this.#reportUnclear(poll, answer);
    }
  }

  /**
   * Alerts the operator that a provider refuses the API key of a connection, and stores the refusal, which
   * `/healthz` shows.
   */
  async #reportRefusedKey({ connection, taskId }: Poll, runtime: Runtime): Promise<void> {
    log({ event: "provider.unauthorized", task_id: taskId, connection }, "warn");
    if (notes.add(`connection:${connection}`, Date.now()) === 0) return;
    const tracker = connectionObject(this.#bindings, connection);
    const event: OperatorEvent = { type: "provider.unauthorized", connection };
    await this.#send(() => tracker.noteRefusedKey(), event, runtime);
  }

  /**
   * Stores for `/healthz` that an answer of a provider was not understood; does so at most once an hour for
   * each connection.
   */
  async #reportUnclear({ connection }: Poll, answer: UnclearAnswer): Promise<void> {
    if (recentlyUnclear.has(connection)) return;
    recentlyUnclear.set(connection, true);
    const object = connectionObject(this.#bindings, connection);
    const { statusCode, word } = answer;
    const note = async () => object.noteUnclear({ statusCode, word });
    await withTimeout("unclear answer", note, undefined, this.#timeoutMs);
  }

  /**
   * Counts a failed attempt at the receiver's host, and alerts the operator when many attempts at this host
   * fail.
   */
  async reportFailedAttempt({ url }: Delivery, runtime: Runtime): Promise<void> {
    const host = hostOf(url);
    if (host === null || !isWanted(runtime.config, "host.failing")) return;
    const count = notes.add(`host:${host}`, Date.now());
    if (count === 0) return;
    const tracker = hostObject(this.#bindings, host);
    await this.#send(() => tracker.noteFailure(count), { type: "host.failing", host }, runtime);
  }

  /**
   * Adds a task to the digest of failed callbacks to a host, one message to the operator about many tasks.
   * @param aborted ends the wait for further failed callbacks.
   * @returns true when it was stored, or another task is to report it.
   */
  async gather(
    host: string,
    taskId: string,
    digestMs: number,
    aborted: AbortSignal,
  ): Promise<boolean> {
    const waitMs = batches.add(host, taskId, Date.now());
    if (waitMs === null) return true;
    if (waitMs > 0) await scheduler.wait(waitMs, { signal: aborted }).catch(() => undefined);
    const batch = batches.take(host);
    if (batch === null) return true;
    const add = async () =>
      digestObject(this.#bindings, host).noteFailedCallbacks(host, batch, digestMs);
    const isStored = await withTimeout("digest", add, false, this.#timeoutMs);
    if (!isStored) batches.putBack(host, batch, taskId);
    return isStored;
  }

  /**
   * Sends an alert to the operator, at most one an hour for each host of callbacks and each connection to a
   * provider.
   * @param claim function that asks the Durable Object of that host or connection whether this alert may be
   * sent; when it may, the object permits no other for an hour.
   */
  async #send(claim: () => Promise<boolean>, event: OperatorEvent, runtime: Runtime) {
    const now = Date.now();
    if (!(await withTimeout(event.type, claim, false, this.#timeoutMs))) return;
    await sendOperatorEvent(event, `${event.type}_${crypto.randomUUID()}`, now, runtime);
  }
}

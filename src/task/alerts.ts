import { type AccountBindings, connectionObject, hostObject } from "../account/object-names.ts";
import type { Runtime } from "../config/runtime.ts";
import type { Delivery } from "../core/duties/deliver.ts";
import type { Poll } from "../core/duties/poll.ts";
import { hostOf } from "../core/url.ts";
import { log } from "../log.ts";
import { notifyOperator, type OperatorEvent } from "../outbound/webhooks.ts";
import { withTimeout } from "../timeout.ts";
import { FaultNotes } from "./fault-notes.ts";

/** Faults of hosts and connections that this isolate has met. */
const notes = new FaultNotes();

/**
 * Alerts the operator of faults that concern many tasks. The account object of a connection or a host
 * permits each alert, so that one message is sent and not one for every task. A failed call to that object
 * only prevents the alert.
 */
export class Alerts {
  readonly #bindings: AccountBindings;
  readonly #timeoutMs: number;

  /**
   * Creates the alerts of one task object.
   * @param timeoutMs time limit in milliseconds for one call to an account object.
   */
  constructor(bindings: AccountBindings, timeoutMs: number) {
    this.#bindings = bindings;
    this.#timeoutMs = timeoutMs;
  }

  /** Alerts the operator of a refused key of a connection, and stores the refusal for `/healthz`. */
  async reportRefusedKey({ connection, taskId }: Poll, runtime: Runtime): Promise<void> {
    log({ event: "provider.unauthorized", task_id: taskId, connection }, "warn");
    if (notes.add(`connection:${connection}`, Date.now()) === 0) return;
    const tracker = connectionObject(this.#bindings, connection);
    const event: OperatorEvent = { type: "provider.unauthorized", connection };
    await this.#send(() => tracker.noteRefusedKey(), event, runtime);
  }

  /** Counts a failed attempt at the receiver's host, and alerts the operator of a host that keeps failing. */
  async reportFailedAttempt({ url }: Delivery, runtime: Runtime): Promise<void> {
    const host = hostOf(url);
    if (host === null || runtime.config.operatorCallbackUrl === null) return;
    const count = notes.add(`host:${host}`, Date.now());
    if (count === 0) return;
    const tracker = hostObject(this.#bindings, host);
    await this.#send(() => tracker.noteFailure(count), { type: "host.failing", host }, runtime);
  }

  /**
   * Sends an alert once its claim succeeds.
   * @param claim returns true when the alert is due; the alert then counts as sent.
   */
  async #send(claim: () => Promise<boolean>, event: OperatorEvent, runtime: Runtime) {
    const now = Date.now();
    if (!(await withTimeout(event.type, claim, false, this.#timeoutMs))) return;
    await notifyOperator(event, `${event.type}_${crypto.randomUUID()}`, now, runtime);
  }
}

import { type AccountBindings, connectionObject, hostObject } from "../account/object-names.ts";
import type { Runtime } from "../config/runtime.ts";
import type { Delivery } from "../core/duties/deliver.ts";
import type { Poll } from "../core/duties/poll.ts";
import { hostOf } from "../core/url.ts";
import { log } from "../log.ts";
import { notifyOperator, type OperatorEvent } from "../outbound/webhooks.ts";
import { withTimeout } from "../timeout.ts";

/**
 * Reports to the operator what concerns many tasks. An object for each connection and host claims the alert,
 * so that one message is sent and not one for every task. The reports never throw for a missing answer.
 */
export class Alerts {
  readonly #bindings: AccountBindings;
  readonly #timeoutMs: number;

  /** @param timeoutMs for one call to an account object. */
  constructor(bindings: AccountBindings, timeoutMs: number) {
    this.#bindings = bindings;
    this.#timeoutMs = timeoutMs;
  }

  /** Reports that a provider refuses the connection's key, and remembers it for `/healthz`. */
  async reportRefusedKey({ connection, taskId }: Poll, runtime: Runtime): Promise<void> {
    log({ event: "provider.unauthorized", task_id: taskId, connection }, "warn");
    const tracker = connectionObject(this.#bindings, connection);
    const event: OperatorEvent = { type: "provider.unauthorized", connection };
    await this.#send(() => tracker.noteRefusedKey(), event, runtime);
  }

  /** Counts the failure of the receiver's host, and reports a host that keeps failing. */
  async reportFailedAttempt({ url }: Delivery, runtime: Runtime): Promise<void> {
    const host = hostOf(url);
    if (host === null || runtime.config.operatorCallbackUrl === null) return;
    const tracker = hostObject(this.#bindings, host);
    await this.#send(() => tracker.noteFailure(), { type: "host.failing", host }, runtime);
  }

  /** @param claim returns true when the alert is due; it is then taken as sent. */
  async #send(claim: () => Promise<boolean>, event: OperatorEvent, runtime: Runtime) {
    const now = Date.now();
    if (!(await withTimeout(event.type, claim, false, this.#timeoutMs))) return;
    await notifyOperator(event, `${event.type}_${crypto.randomUUID()}`, now, runtime);
  }
}

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
import type { AccountFault } from "../../core/events/account-fault.ts";
import type { PollAnswer } from "../../core/events/event.ts";
import type { Poll } from "../../core/duties/poll.ts";
import { isAboutAccount, type RefusalClass } from "../../core/record/refusal.ts";
import { hostOf } from "../../core/url.ts";
import { isolateCache } from "../../lib/isolate-cache.ts";
import { log, type LogLine } from "../../lib/log.ts";
import type { OperatorEvent } from "../../outbound/operator-body.ts";
import { sendOperatorEvent } from "../../outbound/webhooks.ts";
import { withTimeout } from "../../lib/timeout.ts";
import { FailedCallbackBatches } from "../failed-callback-batches.ts";
import { FaultNotes } from "./fault-notes.ts";

/**
 * Faults that this isolate has met: failed callback attempts, by the receiver's host, and refusals because of an API
 * key or a balance, by connection.
 */
const notes = new FaultNotes();
/**
 * Tasks of this isolate whose callbacks have failed for good, and which the Durable Object that collects the failed
 * callbacks of their host does not have yet.
 */
const batches = new FailedCallbackBatches();
/**
 * Names of those connections for which this isolate has reported, within the last hour, an answer that was not
 * understood. The reports go to the Durable Object of the connection.
 */
const recentlyUnclear = isolateCache<true>(1_000, UNCLEAR_PAUSE_MS);

/** A submission that the upstream has refused. Its task may have been erased because of that. */
export interface RefusedSubmission {
  readonly connection: string;
  readonly refusal: RefusalClass;
  readonly statusCode: number;
  /** True when the call had a customer's own key. Such a refusal says nothing about the connection. */
  readonly hasCustomerKey: boolean;
}

/** Operator events about refusals, by the class of the refusal. */
const REFUSAL_EVENTS = { key: "provider.unauthorized", funds: "provider.funds" } as const;

/**
 * Alerts the operator of faults that concern many tasks: a provider that refuses the API key of a connection, a
 * provider that refuses submissions because the account there has no money left, or a receiver's host that keeps
 * failing. Each connection and each host has a Durable Object that decides whether an alert is sent, so that the
 * operator gets one message, not one for every task. If the call to that object fails, this alert is not sent.
 */
export class Alerts {
  readonly #bindings: ObjectNamespaces;
  readonly #timeoutMs: number;
  readonly #traced: (line: LogLine) => LogLine;

  /**
   * Creates the sender of alerts for one task object.
   * @param timeoutMs time limit in milliseconds for one call to the object of a host or connection.
   * @param traced adds the trace id of the task to a log line.
   */
  constructor(bindings: ObjectNamespaces, timeoutMs: number, traced: (line: LogLine) => LogLine) {
    this.#bindings = bindings;
    this.#timeoutMs = timeoutMs;
    this.#traced = traced;
  }

  /**
   * Reports the answer to a poll if the operator should know of this answer. When the provider has refused the API key,
   * the operator is alerted. An answer that was not understood is stored, so that `/healthz` shows it. Answers to polls
   * with the key of a customer are not reported, because they say nothing about the connection; only the task that was
   * polled shows them.
   */
  async reportAnswer(poll: Poll, answer: PollAnswer, runtime: Runtime): Promise<void> {
    if (poll.customerKey !== null) return;
    if (answer.kind === "unauthorized") await this.#reportRefusedKey(poll, runtime);
    // An answer to a poll of a job that only a hook has named may well not name the task. That is no fault of the
    // provider.
    if (answer.kind === "unclear" && poll.purpose !== "kept_job") {
      await this.#reportUnclear(poll, answer);
    }
  }

  /**
   * Reports a submission that was refused because of the key or the balance at the provider, so that the operator knows
   * of it. Other refusals are not reported.
   */
  async reportRefusal(
    { connection, refusal, hasCustomerKey }: RefusedSubmission,
    runtime: Runtime,
  ): Promise<void> {
    if (hasCustomerKey || !isAboutAccount(refusal)) return;
    await this.reportAccountFault({ connection, refusal }, runtime);
  }

  /** Alerts the operator that a provider refuses the API key of a connection. */
  async #reportRefusedKey({ connection, taskId }: Poll, runtime: Runtime): Promise<void> {
    log(this.#traced({ event: "provider.unauthorized", task_id: taskId, connection }), "warn");
    await this.reportAccountFault({ connection, refusal: "key" }, runtime);
  }

  /**
   * Alerts the operator that a provider refuses the key of a connection, or that the account there has no money left, and
   * stores this, so that `/healthz` shows it.
   */
  async reportAccountFault({ connection, refusal }: AccountFault, runtime: Runtime): Promise<void> {
    if (notes.add(`${refusal}:${connection}`, Date.now()) === 0) return;
    const tracker = connectionObject(this.#bindings, connection);
    const event: OperatorEvent = { type: REFUSAL_EVENTS[refusal], connection };
    await this.#send(() => tracker.noteRefusal(refusal), event, runtime);
  }

  /**
   * Stores that an answer of a provider was not understood, so that `/healthz` shows it. For each connection this
   * is done at most once an hour.
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
   * Counts a failed attempt at the receiver's host. The operator is alerted when many attempts at this host fail.
   */
  async reportFailedAttempt({ url }: Pick<Delivery, "url">, runtime: Runtime): Promise<void> {
    const host = hostOf(url);
    if (host === null || !isWanted(runtime.config, "host.failing")) return;
    const count = notes.add(`host:${host}`, Date.now());
    if (count === 0) return;
    const tracker = hostObject(this.#bindings, host);
    await this.#send(() => tracker.noteFailure(count), { type: "host.failing", host }, runtime);
  }

  /**
   * Adds a task to the collection of failed callbacks of a host (digest), about which the operator gets one message.
   * @param aborted ends the wait for further failed callbacks.
   * @returns true when the task is stored in the collection, or when another task reports it.
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
   * Sends an alert to the operator, at most once an hour for each host of callbacks and for each connection.
   * @param claim asks the Durable Object of that host or connection whether this alert may be sent. After permitting an
   * alert, the object permits no other one for an hour.
   */
  async #send(claim: () => Promise<boolean>, event: OperatorEvent, runtime: Runtime) {
    const now = Date.now();
    if (!(await withTimeout(event.type, claim, false, this.#timeoutMs))) return;
    await sendOperatorEvent(event, `${event.type}_${crypto.randomUUID()}`, now, runtime);
  }
}

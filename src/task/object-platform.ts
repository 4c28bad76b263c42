import type { AttemptResult, ChargeAnswer, PollAnswer } from "../core/events/event.ts";
import type { Policy } from "../core/policy.ts";
import type { IndexRow } from "../core/views/index-row.ts";
import type { Charge, Delivery, OperatorNotice, Poll, Refund } from "../core/step.ts";
import type { TaskRecord } from "../core/record/task.ts";
import { policyOf } from "../config/config.ts";
import { errorText, log } from "../log.ts";
import { describeIssues } from "../config/issue.ts";
import { type Runtime, runtimeOf } from "../config/runtime.ts";
import { type Accounts, connectionObject, hostObject } from "../account/object-names.ts";
import { withTimeout } from "../timeout.ts";
import { INDEX_TIMEOUT_MS } from "../index-db/database.ts";
import { type IndexBindings, publishRow } from "../index-db/publish.ts";
import { type OperatorEvent, notifyOperator } from "../outbound/webhooks.ts";
import { deliver, settle } from "../outbound/webhooks.ts";
import { parseRecord } from "./record-schema.ts";
import type { Platform } from "./platform.ts";
import { askUpstream } from "../outbound/poll.ts";

/** What a task object uses of the environment, beside the configuration. */
export interface ObjectBindings extends IndexBindings {
  readonly ACCOUNTS: Accounts;
  readonly METRICS?: AnalyticsEngineDataset;
}

/** Time limits of a task object, in milliseconds. */
export interface Timeouts {
  /** How long beyond the longest outgoing call the watchdog alarm waits before it declares a run dead. */
  readonly watchdogMarginMs: number;
  /** For one call to an account object. */
  readonly ledgerMs: number;
  /** For one write to the index. */
  readonly indexMs: number;
}

const TIMEOUTS: Timeouts = {
  watchdogMarginMs: 5_000,
  ledgerMs: 2_000,
  indexMs: INDEX_TIMEOUT_MS,
};
const RECORD_KEY = "task";

/** The platform of a Durable Object: its storage, its alarm, the clock and the network. */
export class ObjectPlatform implements Platform {
  readonly log = log;
  readonly #ctx: DurableObjectState;
  readonly #bindings: ObjectBindings;
  readonly #accounts: Accounts;
  readonly #timeouts: Timeouts;
  readonly #jitter = Math.random();
  #runtime: Runtime | null = null;

  constructor(ctx: DurableObjectState, bindings: ObjectBindings, timeouts: Partial<Timeouts>) {
    this.#ctx = ctx;
    this.#bindings = bindings;
    this.#accounts = bindings.ACCOUNTS;
    this.#timeouts = { ...TIMEOUTS, ...timeouts };
  }

  /**
   * Reads the configuration and imports the keys, before anything is decided or an attempt opened.
   * @throws when the configuration is not valid.
   */
  async prepare(env: object): Promise<void> {
    const result = await runtimeOf(env);
    if (!result.ok) throw new Error(`configuration: ${describeIssues(result.error)}`);
    this.#runtime = result.value;
  }

  get watchdogMs(): number {
    return this.#prepared().config.callbackTimeoutMs + this.#timeouts.watchdogMarginMs;
  }

  now(): number {
    return Date.now();
  }

  policy(now: number): Policy {
    return policyOf(this.#prepared().config, now, this.#jitter);
  }

  load(): TaskRecord | null {
    const value = this.#ctx.storage.kv.get(RECORD_KEY);
    return value === undefined ? null : parseRecord(value);
  }

  // Two calls without an await between them are one commit. Storage that fails breaks the output
  // gate and resets the object, so the promise of `setAlarm` says nothing more.
  commit(record: TaskRecord, alarmAt: number): void {
    // What could not be read again must not be written: the event fails, and the task lives on.
    parseRecord(record);
    this.#ctx.storage.kv.put(RECORD_KEY, record);
    this.setAlarm(alarmAt);
  }

  setAlarm(at: number): void {
    void this.#ctx.storage.setAlarm(at);
  }

  erase(): Promise<void> {
    return this.#ctx.storage.deleteAll();
  }

  async send(delivery: Delivery): Promise<AttemptResult> {
    const result = await deliver(delivery, this.#prepared());
    try {
      this.#measure(delivery, result);
      if (result.outcome !== "delivered") this.#noteFailure(delivery);
    } catch (error) {
      // What is beside the attempt must not make it count as interrupted.
      log({ event: "measure.failed", task_id: delivery.taskId, error: errorText(error) });
    }
    return result;
  }

  charge({ accountId, chargeId: reference, amount, taskId }: Charge): Promise<ChargeAnswer> {
    const account = this.#accounts.getByName(accountId);
    const { ledgerMs } = this.#timeouts;
    const notAfter = Date.now() + ledgerMs;
    const call = async () => account.charge({ reference, amount }, taskId, notAfter);
    return withTimeout("charge", call, { kind: "unknown" }, ledgerMs);
  }

  refund(refund: Refund): Promise<boolean> {
    const { chargeId, accountId, taskId } = refund;
    const runtime = this.#prepared();
    if (chargeId !== null) {
      const account = this.#accounts.getByName(accountId);
      const call = async () => account.refund(chargeId, taskId);
      return withTimeout("refund", call, false, this.#timeouts.ledgerMs);
    }
    const url = runtime.config.settlementUrl;
    if (url !== null) return settle(refund, url, runtime);
    log({ event: "settlement.impossible", task_id: taskId, detail: "SETTLEMENT_URL is not set" });
    return Promise.resolve(false);
  }

  async poll(poll: Poll, aborted: AbortSignal): Promise<PollAnswer> {
    const answer = await askUpstream(poll, this.#prepared(), aborted);
    if (answer.kind === "unauthorized") this.#noteRefusedKey(poll);
    return answer;
  }

  async publish(row: IndexRow): Promise<boolean> {
    return publishRow(row, this.#bindings, this.#timeouts.indexMs);
  }

  notify(notice: OperatorNotice, aborted: AbortSignal): Promise<boolean> {
    const { taskId, kind, version, task } = notice;
    const id = `${kind}_${taskId}_${version}`;
    return notifyOperator({ type: kind, task }, id, version, this.#prepared(), aborted);
  }

  background(work: Promise<void>): void {
    const guarded = work.catch((error: unknown) => {
      log({ event: "loop.failed", task_id: this.#ctx.id.name ?? null, error: errorText(error) });
    });
    this.#ctx.waitUntil(guarded);
  }

  /** For `/healthz`; the object keeps when a connection's key was last refused. */
  #noteRefusedKey({ connection, taskId }: Poll): void {
    log({ event: "provider.unauthorized", task_id: taskId, connection });
    const keeper = connectionObject(this.#accounts, connection);
    this.#tellIf(() => keeper.noteRefusedKey(), { type: "provider.unauthorized", connection });
  }

  #noteFailure({ url }: Delivery): void {
    if (this.#prepared().config.operatorCallbackUrl === null) return;
    const { hostname: host } = new URL(url);
    const keeper = hostObject(this.#accounts, host);
    this.#tellIf(() => keeper.noteFailure(), { type: "host.failing", host });
  }

  /** Beside the work, and only once: a task never waits for it. */
  #tellIf(isTimely: () => Promise<boolean>, event: OperatorEvent): void {
    const now = Date.now();
    const telling = async () => {
      if (!(await withTimeout(event.type, isTimely, false, this.#timeouts.ledgerMs))) return;
      await notifyOperator(event, `${event.type}_${crypto.randomUUID()}`, now, this.#prepared());
    };
    this.background(telling());
  }

  /** A point of the time series, where one is kept: host, connection and outcome of an attempt. */
  #measure({ url, number, startedAt, account, provider }: Delivery, result: AttemptResult): void {
    this.#bindings.METRICS?.writeDataPoint({
      indexes: [account?.id ?? ""],
      blobs: [result.outcome, new URL(url).hostname, provider ?? ""],
      doubles: [number, Date.now() - startedAt, result.statusCode ?? 0],
    });
  }

  #prepared(): Runtime {
    if (this.#runtime === null) throw new Error("the loop was entered before it was prepared");
    return this.#runtime;
  }
}

import type { Cancel } from "../../core/duties/cancel-job.ts";
import type { Charge } from "../../core/duties/charge.ts";
import type { CopyOrder, KeptOutputs } from "../../core/duties/copy-order.ts";
import { attemptInFlight, type Delivery } from "../../core/duties/callback-attempt.ts";
import type { OperatorNotice } from "../../core/duties/operator-notice-send.ts";
import type { Poll } from "../../core/duties/poll.ts";
import type { Refund } from "../../core/duties/refund.ts";
import type { QueueLeave } from "../../core/duties/queue-leave.ts";
import type { Release } from "../../core/duties/release.ts";
import type { CancelAnswer, ChargeAnswer, PollAnswer } from "../../core/events/event.ts";
import type { Settings } from "../../core/policy.ts";
import type { AttemptResult } from "../../core/record/callback.ts";
import type { AccountFault } from "../../core/events/account-fault.ts";
import type { ProgressCallback } from "../../core/events/progress-callback.ts";
import type { HookReport } from "../../core/events/hook-report.ts";
import type { QueuePosition } from "../../core/record/queue-stay.ts";
import type { TaskRecord } from "../../core/record/task.ts";
import { type Trace, traceIdOf } from "../../core/record/trace.ts";
import type { AttachedJob } from "../../core/record/upstream.ts";
import { SECOND_MS } from "../../core/time.ts";
import type { IndexRow } from "../../core/views/index-row.ts";
import { toListeners } from "../listeners/send-to-listeners.ts";
import { jobObject, ledgerObject, type ObjectNamespaces, outputObject } from "../object-names.ts";
import { type HostPauses, hostPauses } from "../host-pauses.ts";
import { noteStoredTask, requiredRuntime } from "../placed-runtime.ts";
import { callbackUrlRulesOf } from "../../config/callback-url-rules.ts";
import { policyOf } from "../../config/task-settings.ts";
import type { Runtime } from "../../config/runtime.ts";
import { INDEX_TIMEOUT_MS } from "../../index-db/database.ts";
import { type IndexBindings, sendRow } from "../../index-db/index-row-send.ts";
import { shardsOf } from "../index/index-shards.ts";
import { errorText, log, logAs, type LogLevel, type LogLine } from "../../lib/log.ts";
import { cancelUpstream } from "../../outbound/cancel-upstream.ts";
import { connectionOf } from "../../outbound/upstream-connection.ts";
import {
  deliverProgress,
  refundMessage,
  releaseMessage,
  sendOperatorEvent,
  settle,
  type SettlementMessage,
} from "../../outbound/webhooks.ts";
import type { UrlRules } from "../../security/url-rules.ts";
import { withinTime } from "../../lib/timeout.ts";
import { Alerts, type RefusedSubmission } from "./alerts.ts";
import { measurePoll, measureRefusedSubmission } from "./measure.ts";
import { type Attachment, ConnectionCalls } from "./connection-calls.ts";
import type { Platform } from "./platform.ts";
import { leaveQueues, positionIn, tellKeptCall } from "./queue-calls.ts";
import { JobReader, type ReadJob } from "./job-reader.ts";
import { RecordStore } from "./record-store.ts";
import { stateOf } from "./reply.ts";
import { setRecoveryAlarm } from "../recovery.ts";
import type { EndedAttempt, SenderBinding } from "./sender-binding.ts";
import { UpstreamProgress } from "./upstream-progress.ts";
import { Watchers } from "./watchers.ts";

/**
 * Bindings of the environment that a task object uses: the index, other objects, and time series. Variables of the
 * environment are read by src/config instead.
 */
export interface ObjectBindings extends IndexBindings, ObjectNamespaces, SenderBinding {
  readonly METRICS?: AnalyticsEngineDataset;
}

/** Time limits of a task object, in milliseconds. */
export interface Timeouts {
  /**
   * Margin in milliseconds of the watchdog alarm, which starts the work again after a crash. The alarm fires when the
   * time limit of a callback attempt or of a poll, whichever is longer, plus this margin is over.
   */
  readonly watchdogMarginMs: number;
  /**
   * Time limit in milliseconds for one call to the ledger of an account, for one order to copy outputs or to leave queues,
   * and for one call that reports a fault (alerts.ts).
   */
  readonly ledgerMs: number;
  /** Time limit in milliseconds for one write to the index. */
  readonly indexMs: number;
}

/** State that watchers (Workers that wait for changes of a task) get when the task is erased. */
const NO_TASK = "";

/** Default of `Timeouts.ledgerMs`. */
export const LEDGER_TIMEOUT_MS = 2 * SECOND_MS;

const TIMEOUTS: Timeouts = {
  watchdogMarginMs: 5 * SECOND_MS,
  ledgerMs: LEDGER_TIMEOUT_MS,
  indexMs: INDEX_TIMEOUT_MS,
};

/**
 * Storage, alarm, clock and calls to other services, as the Durable Object of a task provides them to the work loop.
 */
export class ObjectPlatform implements Platform {
  readonly progress = new UpstreamProgress();
  readonly watchers: Watchers;
  readonly #ctx: DurableObjectState;
  readonly #bindings: ObjectBindings;
  readonly #timeouts: Timeouts;
  readonly #alerts: Alerts;
  readonly #connections: ConnectionCalls;
  readonly #jitter = Math.random();
  readonly #records: RecordStore;
  readonly #jobs: JobReader;
  #applying: Promise<void> = Promise.resolve();
  /** Trace context of the record that was last read or stored, for the log. Null when it has none. */
  #trace: Trace | null = null;
  #runtime: Runtime | null = null;
  #pauses: HostPauses;
  #sender: SenderBinding["SENDER"];
  /**
   * Settings derived from `#runtime`, which does not change while the isolate runs. Null before they are first needed,
   * and always while the relay is paused.
   */
  #settings: Settings | null = null;

  /** Creates the platform of one task object. @param timeouts time limits that differ from the defaults. */
  constructor(ctx: DurableObjectState, bindings: ObjectBindings, timeouts: Partial<Timeouts>) {
    this.#ctx = ctx;
    this.#bindings = bindings;
    this.#timeouts = { ...TIMEOUTS, ...timeouts };
    this.#pauses = hostPauses(bindings);
    this.#sender = bindings.SENDER;
    this.#alerts = new Alerts(bindings, this.#timeouts.ledgerMs, (line) => this.#traced(line));
    this.#connections = new ConnectionCalls(bindings);
    this.#jobs = new JobReader(this.#connections);
    this.#records = new RecordStore(ctx.storage);
    this.watchers = new Watchers(ctx);
  }

  /**
   * Reads the configuration and imports the secret keys. It must be called before the work loop uses this object.
   * @throws when the configuration is not valid.
   */
  prepare(env: ObjectBindings): void {
    this.#runtime = requiredRuntime(env);
    this.#pauses = hostPauses(env);
    this.#sender = env.SENDER;
  }

  now(): number {
    return Date.now();
  }

  policy(now: number): Settings {
    const settings = this.#settingsAt(now);
    const pausedHosts = this.#pauses.known();
    return pausedHosts.size === 0 ? settings : { ...settings, pausedHosts };
  }

  #settingsAt(now: number): Settings {
    const { config, keyring } = this.#prepared();
    const { watchdogMarginMs } = this.#timeouts;
    // The settings depend on the time only while the relay is paused.
    if (config.paused) return policyOf(config, keyring, now, this.#jitter, watchdogMarginMs);
    return (this.#settings ??= policyOf(config, keyring, now, this.#jitter, watchdogMarginMs));
  }

  readPauses(): Promise<void> | null {
    return this.#pauses.read();
  }

  /** Returns the rules that the `callback_url` of a task must follow. */
  urlRules({ origin, account }: Pick<TaskRecord, "origin" | "account">): UrlRules {
    return callbackUrlRulesOf(this.#prepared().config, origin, account !== null);
  }

  load(): TaskRecord | null {
    const record = this.#records.load();
    if (record !== null) this.#trace = record.trace ?? null;
    return record;
  }

  // The platform commits two storage calls without an await between them together. The promise of `setAlarm` need
  // not be awaited, because a failing storage holds back all answers and resets the object.
  commit(record: TaskRecord, alarmAt: number | null): void {
    // Begun before the storage holds back what leaves the object, so that the attempt waits for the longer of both alone.
    if (attemptInFlight(record) !== null) void this.readPauses();
    this.#records.store(record);
    this.#trace = record.trace ?? null;
    noteStoredTask(this.#bindings, record.id);
    if (alarmAt !== null) this.setAlarm(alarmAt);
    this.tellWatchers();
  }

  /**
   * Sends the state of the task to all Workers that wait for changes of it. The platform delivers it only after the
   * record is committed.
   */
  tellWatchers(): void {
    this.watchers.tell(() => this.state);
  }

  /** A text that changes whenever something changes that readers see of the task. */
  get state(): string {
    const record = this.load();
    if (record === null) return NO_TASK;
    const progress = this.progress.of(record);
    return stateOf({ version: record.version, ...(progress !== null && { progress }) });
  }

  setAlarm(at: number): void {
    void this.#ctx.storage.setAlarm(at);
  }

  /**
   * Logs that the work of an alarm has failed at `now`, sets another alarm, and waits until it is stored. The work loop
   * does not know of the new alarm before it fires.
   * @returns false when the alarm could not be stored.
   */
  async recover(failure: unknown, now: number): Promise<boolean> {
    const failed = { task_id: this.#ctx.id.name ?? null, error: errorText(failure) };
    log(this.#traced({ event: "alarm.failed", ...failed }), "error");
    try {
      await setRecoveryAlarm(this.#ctx.storage, now, this.#jitter);
      return true;
    } catch (error) {
      const line = { task_id: this.#ctx.id.name ?? null, error: errorText(error) };
      log(this.#traced({ event: "alarm.not_repeated", ...line }), "error");
      return false;
    }
  }

  async erase(): Promise<void> {
    await this.#records.erase();
    this.watchers.tell(() => NO_TASK);
  }

  async send(delivery: Delivery): Promise<EndedAttempt | null> {
    try {
      return await this.#sender.sendCallback(delivery);
    } catch (error) {
      // The sender may have sent the attempt before it failed, so it is not sent again but found interrupted.
      const { taskId, number } = delivery;
      const line = { event: "sender.failed", task_id: taskId, number, error: errorText(error) };
      log(this.#traced(line), "error");
      return null;
    }
  }

  sendProgress(callback: ProgressCallback, mayStart: () => boolean): Promise<AttemptResult | null> {
    return deliverProgress(callback, this.#prepared(), toListeners(this.#bindings), mayStart);
  }

  charge(charge: Charge): Promise<ChargeAnswer> {
    const { accountId, chargeId: reference, amount, taskId, model, bookedBy } = charge;
    const account = ledgerObject(this.#bindings, accountId);
    const { ledgerMs } = this.#timeouts;
    const notAfter = Date.now() + ledgerMs;
    const order = { reference, amount };
    const call = async () => account.charge(order, taskId, notAfter, bookedBy, model);
    return withinTime<ChargeAnswer>(call, { kind: "unknown" }, ledgerMs);
  }

  refund(refund: Refund): Promise<boolean> {
    const { chargeId: reference, accountId, taskId } = refund;
    if (reference === null) return this.#settle(refundMessage(refund), taskId);
    const account = ledgerObject(this.#bindings, accountId);
    const call = async () => account.refund(reference, taskId);
    return withinTime(call, false, this.#timeouts.ledgerMs);
  }

  release(release: Release): Promise<boolean> {
    const { chargeId: reference, accountId, taskId, amount } = release;
    if (reference === null) return this.#settle(releaseMessage(release), taskId);
    const account = ledgerObject(this.#bindings, accountId);
    const call = async () => account.release({ reference, amount }, taskId);
    return withinTime(call, false, this.#timeouts.ledgerMs);
  }

  /** Asks the operator's own billing to give back credits of a task, by a refund or a release. */
  #settle(message: SettlementMessage, taskId: string): Promise<boolean> {
    const runtime = this.#prepared();
    const url = runtime.config.settlementUrl;
    if (url !== null) return settle(message, url, runtime);
    const line = { task_id: taskId, detail: "SETTLEMENT_URL is not set" };
    log(this.#traced({ event: "settlement.impossible", ...line }), "error");
    return Promise.resolve(false);
  }

  async poll(poll: Poll, aborted: AbortSignal): Promise<PollAnswer> {
    const runtime = this.#prepared();
    const connection = await connectionOf(poll, runtime);
    if (connection === null) return { kind: "unanswered" };
    const answer = await this.#jobs.poll(poll, connection, runtime, aborted);
    if (answer.kind !== "deferred") this.#noteAnswer(poll, answer, runtime);
    return answer;
  }

  /**
   * Returns the upstream's answer to a client's call that reads the job of a task.
   * @param poll the poll with which the relay itself would ask about the job.
   * @param path path and query of the call, relative to the base URL of the connection.
   * @param ownKey the caller's key of the upstream; null when the stored key is used.
   * @param answered is called with the answer if the answer is new and would also be an answer to the poll.
   */
  async readJob(
    poll: Poll,
    path: string,
    ownKey: string | null,
    answered: (answer: PollAnswer) => Promise<unknown>,
  ): Promise<ReadJob> {
    const runtime = this.#prepared();
    const read = await this.#jobs.read(poll, path, ownKey, runtime);
    if (read.kind === "answer" && read.poll !== null) {
      this.#applying = this.#pollWith(read.poll, poll, answered);
      this.background(this.#applying);
    }
    return read;
  }

  /** Waits until an answer that a client has read, and that counts as an answer to a poll, is applied to the task. */
  async answersApplied(): Promise<void> {
    await this.#applying.catch(() => undefined);
  }

  async #pollWith(
    read: () => Promise<PollAnswer>,
    poll: Poll,
    answered: (answer: PollAnswer) => Promise<unknown>,
  ): Promise<void> {
    const answer = await read();
    if (answer.kind === "deferred") return;
    this.#noteAnswer(poll, answer, this.#prepared());
    await answered(answer);
  }

  /**
   * Stores to which task a job belongs.
   * @throws when this could not be stored.
   */
  async nameJob({ connection, job }: AttachedJob, taskId: string): Promise<void> {
    await jobObject(this.#bindings, connection, job.id).setTask(job.id, taskId);
  }

  async forgetJob({ connection, job }: AttachedJob, taskId: string): Promise<void> {
    await jobObject(this.#bindings, connection, job.id).forget(job.id, taskId);
  }

  async cancelJob(cancel: Cancel, aborted: AbortSignal): Promise<CancelAnswer> {
    const answer = await cancelUpstream(cancel, this.#prepared(), aborted);
    this.#jobs.forgetAnswers();
    return answer;
  }

  /** Tells readers who watch the task, and the operator, what an answer to a poll contains. */
  #noteAnswer(poll: Poll, answer: PollAnswer, runtime: Runtime): void {
    this.progress.notePoll(poll.job.id, answer);
    this.tellWatchers();
    const note = async () => {
      measurePoll(this.#bindings.METRICS, poll, answer);
      await this.#alerts.reportAnswer(poll, answer, runtime);
    };
    this.background(note());
  }

  /** Reports a refused submission of this task to the operator, and writes a data point about it. */
  reportRefusal(refused: RefusedSubmission): void {
    measureRefusedSubmission(this.#bindings.METRICS, refused);
    this.background(this.#alerts.reportRefusal(refused, this.#prepared()));
  }

  reportAccountFault(fault: AccountFault): void {
    this.background(this.#alerts.reportAccountFault(fault, this.#prepared()));
  }

  reportHook(report: HookReport): void {
    this.background(this.#connections.reportHook(report));
  }

  /**
   * Returns an event that attaches a job. If the hooks of its connection are missing, the returned event expects no
   * hook; see `ConnectionCalls.withHookHealth`.
   */
  withHookHealth<Event extends Attachment>(event: Event): Promise<Event> {
    return this.#connections.withHookHealth(event, this.load(), this.#prepared().config);
  }

  async writeIndexRow(row: IndexRow): Promise<boolean> {
    const shards = shardsOf(this.#bindings, this.#prepared().config);
    return sendRow(row, shards, this.#bindings.INDEX_QUEUE, this.#timeouts.indexMs);
  }

  sendNotice(notice: OperatorNotice, aborted: AbortSignal): Promise<boolean> {
    const { kind: type, version, ...about } = notice;
    const { host, taskId } = about;
    const { digestMs } = this.#prepared().config;
    if (type === "callback.failed" && digestMs !== null && host !== null) {
      return this.#alerts.gather(host, taskId, digestMs, aborted);
    }
    const id = `${type}_${taskId}_${version}`;
    return sendOperatorEvent({ type, ...about }, id, version, this.#prepared(), aborted);
  }

  startCopies(order: CopyOrder): void {
    this.background(this.orderCopies(order));
  }

  orderCopies(order: CopyOrder): Promise<boolean> {
    const outputs = outputObject(this.#bindings, order.taskId, order.recordedAt);
    const call = async () => outputs.copy(order);
    return withinTime<boolean>(call, false, this.#timeouts.ledgerMs);
  }

  leaveQueues(leave: QueueLeave): Promise<boolean> {
    return leaveQueues(this.#bindings, leave, this.#timeouts.ledgerMs);
  }

  tellKeptCall(submissionId: string): void {
    this.background(tellKeptCall(this.#bindings, submissionId));
  }

  /** Returns the position of a submission in the queues of its connections. Null when it is not known in time. */
  positionOf({ connections, submissionId }: QueueLeave): Promise<QueuePosition | null> {
    return positionIn(this.#bindings, connections, submissionId);
  }

  async deleteOutputs(outputs: KeptOutputs): Promise<void> {
    await outputObject(this.#bindings, outputs.taskId, outputs.recordedAt).delete(outputs);
  }

  background(work: Promise<unknown>): void {
    const guarded = work.catch((error: unknown) => {
      const line = { task_id: this.#ctx.id.name ?? null, error: errorText(error) };
      log(this.#traced({ event: "loop.failed", ...line }), "error");
    });
    this.#ctx.waitUntil(guarded);
  }

  log(line: () => LogLine, level: LogLevel): void {
    logAs(level, () => this.#traced(line()), this.#prepared().config);
  }

  /** Returns a log line with the trace id of the task, which a task without one has not. */
  #traced(line: LogLine): LogLine {
    return this.#trace === null ? line : { ...line, trace_id: traceIdOf(this.#trace) };
  }

  #prepared(): Runtime {
    if (this.#runtime === null) throw new Error("the platform is used before `prepare`");
    return this.#runtime;
  }
}

import { retryable } from "cloudflare:durable-objects";
import { DurableObject } from "cloudflare:workers";
import { orderOf } from "../../core/duties/copy-order.ts";
import { expire } from "../../core/duties/expire.ts";
import { type CallRefusalReply, callRefusalReplyOf } from "../../core/events/call-refusal.ts";
import { type CallStart, callStartOf } from "../../core/events/call-start.ts";
import type { Decision } from "../../core/events/decision.ts";
import type {
  CallRefusedEvent,
  CallStartedEvent,
  CopiesEndedEvent,
  HookEvent,
  HookRefusedEvent,
  SubmitEndedEvent,
  SubmitOutcome,
} from "../../core/events/event.ts";
import { isLateSuccess } from "../../core/events/late-results.ts";
import { type FollowUp, followUpOf } from "../../core/events/submit-again.ts";
import { isCharging } from "../../core/record/credits.ts";
import { hasStoredFiles } from "../../core/record/outputs.ts";
import type { QueuePosition } from "../../core/record/queue-stay.ts";
import { isAboutAccount } from "../../core/record/refusal.ts";
import {
  addressedName,
  type CreatedTask,
  isTerminal,
  type TaskRecord,
} from "../../core/record/task.ts";
import { errorCodeOf } from "../../core/record/callback-body.ts";
import { CANCELED_CODE } from "../../core/record/cancellation.ts";
import type { AttachedJob } from "../../core/record/upstream.ts";
import { toSeconds } from "../../core/time.ts";
import type { Reader } from "../../core/views/reader.ts";
import { hasCustomerKey, sealedKeyOf } from "../../core/record/customer-key.ts";
import { askedJobOf, submittedJobOf } from "../../core/record/submitted-job.ts";
import { isQueued } from "../../core/record/submission.ts";
import { holdsPlace } from "../../core/plans/queue-places.ts";
import { leaveOf } from "../../core/duties/queue-leave.ts";
import { pollOf } from "../../core/duties/poll.ts";
import { type OutputPlace, outputPlaceOf } from "../../core/views/output-place.ts";
import { taskFacts } from "../../core/views/task-facts.ts";
import { errorText, type LogLevel } from "../../lib/log.ts";
import type { RefusedSubmission } from "./alerts.ts";
import { type AnswerReply, answerReplyOf, isSubmitter } from "./answer-reply.ts";
import { accountOf, type Caller, keyNameOf, readerOf } from "./caller.ts";
import { type ObjectBindings, ObjectPlatform, type Timeouts } from "./object-platform.ts";
import type { EndedAttempt } from "./sender-binding.ts";
import type { HeldPlace } from "../queue/queue-row.ts";
import {
  attributed,
  cancelEventOf,
  nameOf,
  type OutsideEvent,
  urlRefusalOf,
} from "./outside-event.ts";
import {
  type JobOutput,
  jobOutputOf,
  type JobQuestion,
  type JobReply,
  jobReplyOf,
  NO_JOB,
} from "./job-reply.ts";
import {
  type Applied,
  appliedOf,
  type InspectedTask,
  refused,
  replyOf,
  taken,
  type TaskReply,
} from "./reply.ts";
import { WorkLoop } from "./work-loop.ts";

/**
 * Types of events that a person orders, e.g. a cancellation. They are logged at the level `info`. Other events that
 * requests cause are logged at the level `detail`, unless they are refused.
 */
const RARE: ReadonlySet<string> = new Set(["redeliver", "cancel", "cancel_submitted", "erase"]);

/**
 * Outcomes of a provider's hook that are normal. They are logged at the level `detail`: `recorded` (the task has
 * changed), `nudged` (the hook has caused a poll), `kept` (the hook is stored until the job is known), and `ignored`.
 */
const NORMAL_OUTCOMES: ReadonlySet<string> = new Set(["recorded", "nudged", "kept", "ignored"]);

/**
 * The Durable Object of one task. It stores one record, and one alarm for the next step of the task. The rules are in
 * src/core: core/duties decides what the task must do and when, core/events what an event changes. A method that has
 * nothing to wait for returns no promise, because the platform needs more CPU time to pass a promise on to the caller.
 */
export class TaskObject extends DurableObject<ObjectBindings> {
  static {
    // The platform may repeat these methods after a lost connection, because a repetition changes nothing. `apply`
    // is not in the list, because a redelivery without an `Idempotency-Key` would be ordered twice.
    for (const name of [
      "endCall",
      "endCopies",
      "deleteOutputs",
      "endAttempt",
      "endSubmission",
      "followUp",
      "hook",
      "holdsPlace",
      "inspect",
      "isKnown",
      "isOpen",
      "outputOfJob",
      "placeOfOutput",
      "read",
      "readAnswer",
      "readJob",
      "readByLink",
      "refuseCall",
      "rewriteIndexRow",
      "startCall",
      "wake",
    ] as const) {
      retryable(this.prototype[name]);
    }
  }

  readonly #platform: ObjectPlatform;
  readonly #loop: WorkLoop;

  /** Creates the task object. @param timeouts time limits that differ from the defaults. */
  constructor(ctx: DurableObjectState, env: ObjectBindings, timeouts: Partial<Timeouts> = {}) {
    super(ctx, env);
    this.#platform = new ObjectPlatform(ctx, env, timeouts);
    this.#loop = new WorkLoop(this.#platform);
  }

  /**
   * Applies an event that a request has sent, e.g. a result or a redelivery. When the caller is an account that
   * does not own the task, the refusal is `unknown_task`.
   */
  async apply(event: OutsideEvent, caller: Caller): Promise<Applied> {
    const startedAt = Date.now();
    this.#platform.prepare(this.env);
    const applied = this.#isForeign(caller, event.type === "register")
      ? refused({ code: "unknown_task" })
      : await this.#applyEvent(event, caller);
    const level = applied.kind === "refused" || RARE.has(event.type) ? "info" : "detail";
    const line = () => ({
      event: `task.${nameOf(event)}`,
      task_id: this.#taskId,
      by: keyNameOf(caller),
      outcome: this.#outcomeOf(applied, event),
      duration_ms: Date.now() - startedAt,
    });
    this.#platform.log(line, level);
    return applied;
  }

  /**
   * Applies a hook of a provider. A hook is accepted in every state of the task; one that contradicts the task is only
   * logged.
   */
  hook(event: HookEvent): "taken" | "unknown_task" {
    this.#platform.prepare(this.env);
    const decision = this.#loop.apply(event);
    const isUnknown = decision.kind === "reject";
    if (!isUnknown) this.#platform.progress.noteHook(event);
    this.#platform.tellWatchers();
    const note = "note" in decision ? decision.note : undefined;
    const outcome = note ?? (decision.kind === "changed" ? "recorded" : "unknown_task");
    const { connection, news, unread } = event;
    if (outcome === "other_job") {
      this.#loop.apply({ type: "hook_refused", connection, reason: outcome });
    }
    const said = unread === undefined ? { status: news.status } : { unread };
    const line = { task_id: this.#taskId, connection, ...said, outcome };
    const isNormal = unread === undefined && NORMAL_OUTCOMES.has(outcome);
    const level = isNormal ? "detail" : "info";
    this.#platform.log(() => ({ event: "task.hook", ...line }), level);
    return isUnknown ? "unknown_task" : "taken";
  }

  /**
   * Applies the end of a submission. After a refusal, the method waits until the price is given back, but not longer
   * than one call to the ledger takes.
   * @returns the task as the caller may see it. Null when it is erased or hidden, or when the submission is not that of
   * the stored task.
   */
  async endSubmission(event: SubmitEndedEvent, caller: Caller): Promise<TaskReply | null> {
    await this.#endSubmission(event);
    const record = this.#readable();
    if (record === null || record.submission?.id !== event.submissionId) return null;
    return replyOf(record, readerOf(caller), this.#loop.policy());
  }

  /**
   * Begins the call of a submission that had to wait, as the object that makes the call asks.
   * @returns whether the call is to be sent now. A repetition while the call is being sent returns this again: the object
   * of the call knows whether it has sent it.
   */
  startCall(event: CallStartedEvent): CallStart {
    this.#platform.prepare(this.env);
    this.#loop.apply(event);
    const start = callStartOf(this.#platform.load(), event);
    const { type: _, submissionId: __, ...attempt } = event;
    const line = { event: "call.started", task_id: this.#taskId, ...attempt, outcome: start.kind };
    this.#platform.log(() => line, "detail");
    return start;
  }

  /**
   * Applies the proof that an attempt to send a call has started nothing. The operator is alerted if the refusal is about
   * the account at the upstream.
   * @returns whether the sender of the call asks for a place for another attempt. A repetition returns the same as long as
   * that attempt has not begun.
   */
  refuseCall(event: CallRefusedEvent): CallRefusalReply {
    this.#platform.prepare(this.env);
    const decision = this.#loop.apply(event);
    const { attempt, connection, statusCode, refusal } = event;
    if (decision.kind === "changed") {
      const isOwnKey = hasCustomerKey(decision.record);
      const about = { connection, refusal, statusCode, hasCustomerKey: isOwnKey };
      this.#platform.reportRefusal(about);
    }
    const reply = callRefusalReplyOf(this.#platform.load(), event);
    const facts = { connection, attempt, status_code: statusCode, refusal, outcome: reply };
    const line = { event: "call.refused", task_id: this.#taskId, ...facts };
    this.#platform.log(() => line, isAboutAccount(refusal) ? "warn" : "info");
    return reply;
  }

  /**
   * Tells whether a submission may use the place that it holds at a connection; false means that the place is free. A
   * task that does not exist holds none.
   */
  holdsPlace({ submissionId, connection, attempt }: HeldPlace): boolean {
    this.#platform.prepare(this.env);
    return holdsPlace(this.#platform.load(), submissionId, connection, attempt);
  }

  /** Tells the object of a kept call what it does next: whether the job of this attempt runs, or has failed. */
  followUp(submissionId: string, attempt: number): FollowUp {
    this.#platform.prepare(this.env);
    return followUpOf(this.#platform.load(), submissionId, attempt, this.#platform.now());
  }

  /**
   * Applies the end of a call, as `endSubmission` does, for the object that has made the call.
   * @returns true when the files that this object has stored belong to the task now. Otherwise they must be deleted.
   */
  async endCall(event: SubmitEndedEvent): Promise<boolean> {
    await this.#endSubmission(event);
    const record = this.#platform.load();
    if (record === null || record.submission?.id !== event.submissionId) return false;
    return isTerminal(record) && record.outputs !== null && hasStoredFiles(record.outputs);
  }

  async #endSubmission(event: SubmitEndedEvent): Promise<void> {
    this.#platform.prepare(this.env);
    await this.#nameJob(event);
    // The refusal of an attempt was reported when the call began to wait for the next one.
    const isReported = isQueued(this.#platform.load()?.submission ?? null);
    const outcome = await this.#withHookHealth(event.outcome);
    const decision = await this.#loop.applyAndErase({ ...event, outcome });
    const submission = refusedSubmissionOf(decision, outcome);
    if (submission !== null && !isReported) this.#platform.reportRefusal(submission);
    if (decision.kind === "changed" && decision.record.status === "charging") {
      await this.#loop.runUntilIdle();
    }
    const statusCode = "statusCode" in outcome ? outcome.statusCode : null;
    const facts = { task_id: this.#taskId, outcome: outcome.kind, status_code: statusCode };
    const refusal = submission && {
      connection: submission.connection,
      refusal: submission.refusal,
    };
    const line = () => ({ event: "submission.ended", ...facts, ...refusal });
    this.#platform.log(line, levelOf(outcome, submission));
  }

  /** Applies the end of an attempt of the callback, as its sender reports it if the receiver has not answered soon. */
  endAttempt(ended: EndedAttempt): void {
    this.#platform.prepare(this.env);
    this.#loop.endAttempt(ended);
  }

  /**
   * Stores which copies of the outputs have ended, as the object that makes the copies reports.
   * @returns false when the task does not exist any more, so that its copies must be deleted.
   */
  endCopies(event: CopiesEndedEvent): boolean {
    this.#platform.prepare(this.env);
    this.#loop.apply(event);
    const record = this.#platform.load();
    return record !== null && isTerminal(record) && record.recordedAt === event.recordedAt;
  }

  /**
   * Returns from where an output of the task can be fetched while the relay has no copy of it. Null when the task has
   * no such output with a link of the relay.
   * @param recordedAt creation time of the task's record, as the relay's link states it to distinguish tasks with the
   * same id.
   */
  placeOfOutput(recordedAt: number, number: number): OutputPlace | null {
    this.#platform.prepare(this.env);
    return outputPlaceOf(this.#readable(), recordedAt, number);
  }

  /**
   * Deletes an output of the task, or all that have links of the relay: the copies are deleted, and then the relay
   * refuses these links.
   * @param number number of the output; null for all.
   * @returns null when the copies are not deleted yet. The deletion is then repeated until it is confirmed.
   */
  async deleteOutputs(number: number | null, caller: Caller): Promise<Applied | null> {
    this.#platform.prepare(this.env);
    const isForeign = this.#isForeign(caller);
    const decision = isForeign ? null : this.#loop.apply({ type: "delete_outputs", number });
    const applied =
      decision === null
        ? refused({ code: "unknown_task" })
        : appliedOf(decision, readerOf(caller), this.#loop.policy());
    const isDeleted = applied.kind === "refused" || (await this.#confirmDeletions());
    const outcome = applied.kind === "refused" ? applied.refusal.code : applied.kind;
    const line = { task_id: this.#taskId, number, by: keyNameOf(caller), outcome };
    const state = isDeleted ? {} : { copies: "not_deleted" };
    this.#platform.log(() => ({ event: "task.delete_outputs", ...line, ...state }), "info");
    return isDeleted ? applied : null;
  }

  /** Orders the deletion of copies that is not confirmed yet. Returns false when the order has failed. */
  async #confirmDeletions(): Promise<boolean> {
    const record = this.#platform.load();
    if (record === null || !isTerminal(record) || record.outputs === null) return true;
    const order = orderOf(record, record.outputs);
    if (order.deleted.length === 0) return true;
    const isTaken = await this.#platform.orderCopies(order).catch((error: unknown) => {
      const line = { task_id: this.#taskId, error: errorText(error) };
      this.#platform.log(() => ({ event: "outputs.not_deleted", ...line }), "warn");
      return false;
    });
    const { recordedAt, deleted } = order;
    if (isTaken) this.#loop.apply({ type: "copies_ordered", recordedAt, isTaken, deleted });
    return isTaken;
  }

  /** Stores that a hook which came to a valid hook URL of the task was refused. */
  refuseHook(event: HookRefusedEvent): void {
    this.#platform.prepare(this.env);
    this.#loop.apply(event);
  }

  /**
   * Writes the task's index row again at once, and sets the task's alarm again if it was lost.
   * @param isAlwaysDue with true, the row is written even if a write is planned already, and the repetitions of a
   * failed write are planned anew. With false, the planned times of a write that has not succeeded yet stay, so that
   * repeated calls cost at most one write each.
   * @returns the task's creation time, in Unix milliseconds; null when there is no task, or when the time for which the
   * index stores its row is over.
   */
  rewriteIndexRow(isAlwaysDue = true): number | null {
    this.#platform.prepare(this.env);
    const decision = this.#loop.apply({ type: "rewrite_index_row", isAlwaysDue });
    if (decision.kind === "reject") return null;
    if (decision.kind === "unchanged") this.#loop.resume();
    return this.#platform.load()?.createdAt ?? null;
  }

  /**
   * Erases the task if its retention is over. This is needed when the alarm that should have erased the task was
   * lost.
   * @returns `gone` when there was no task, `expired` when the task was erased, `kept` when it stays.
   */
  async expireIfDue(): Promise<"gone" | "expired" | "kept"> {
    this.#platform.prepare(this.env);
    const record = this.#platform.load();
    if (record === null) return "gone";
    const expiry = expire(record);
    if (expiry === null || expiry.dueAt > this.#platform.now()) return "kept";
    const decision = await this.#loop.applyAndErase({ type: "erase" });
    return decision.kind === "erase" ? "expired" : "kept";
  }

  /**
   * Sets the task's alarm again, because it may have been lost, and starts the work that is due. The task's index
   * row is written at once when the index lacks its present version.
   * @returns false when there is no task.
   */
  wake(): boolean {
    this.#platform.prepare(this.env);
    return this.#loop.resume();
  }

  /**
   * Returns the task as the caller may see it. Null when the task does not exist, or when the caller is an account
   * that does not own it.
   */
  read(caller: Caller): TaskReply | null | Promise<TaskReply | null> {
    this.#platform.prepare(this.env);
    const record = this.#readable();
    const queues = record !== null && isQueued(record.submission) ? leaveOf(record) : null;
    if (queues === null || this.#isForeign(caller)) return this.#read(caller, null);
    return this.#platform.positionOf(queues).then((position) => this.#read(caller, position));
  }

  #read(caller: Caller, position: QueuePosition | null): TaskReply | null {
    const record = this.#readable();
    if (record === null || this.#isForeign(caller)) return null;
    const progress = this.#platform.progress.of(record);
    return replyOf(record, readerOf(caller), this.#loop.policy(), progress, position);
  }

  /**
   * Returns what is known of the upstream's answer to the call that has started the task's job. Null when the task does
   * not exist or has not ended, and when the caller is an account that does not own it.
   */
  readAnswer(caller: Caller): AnswerReply | null {
    this.#platform.prepare(this.env);
    const record = this.#readable();
    if (record === null || !isTerminal(record) || this.#isForeign(caller)) return null;
    return answerReplyOf(record, caller);
  }

  /**
   * Returns the upstream's answer to a client's call that reads the job of the task. Only the operator and the account
   * that has submitted the job may read it. If the answer says that the job has ended, it ends the task too.
   */
  async readJob(question: JobQuestion, caller: Caller): Promise<JobReply> {
    const asked = this.#askedJob(question, caller);
    if (asked === null) return NO_JOB;
    const { record, submitted, ownKey } = asked;
    if (isWithheld(caller, record)) return { kind: "withheld" };
    const { job } = submitted;
    const askedAt = this.#platform.now();
    const poll = pollOf(record, submitted);
    const read = await this.#platform.readJob(poll, question.target, ownKey, (answer) =>
      this.#loop.applyAnswer({ type: "poll_ended", job, purpose: "result", askedAt, answer }),
    );
    return jobReplyOf(read, record);
  }

  /**
   * Applies a client's order to cancel the task, which the client gives by a call about the task's job. For everybody
   * who may not read the job, the order is refused with `unknown_task`.
   */
  async cancelJob(question: JobQuestion, caller: Caller): Promise<Applied> {
    if (this.#askedJob(question, caller) === null) return refused({ code: "unknown_task" });
    return await this.apply(cancelEventOf(caller, false), caller);
  }

  /**
   * Returns where an output of the job of the task can be fetched, for callers who may read the job. If a client has
   * just read an answer of the upstream, it first waits until that answer is applied.
   */
  async outputOfJob(question: JobQuestion, number: number, caller: Caller): Promise<JobOutput> {
    if (this.#askedJob(question, caller) === null) return NO_JOB;
    await this.#platform.answersApplied();
    const asked = this.#askedJob(question, caller);
    return asked === null
      ? NO_JOB
      : jobOutputOf(asked.record, asked.submitted, asked.ownKey, number);
  }

  /**
   * Returns the task as its status link (a URL with a token) shows it. Null when the task does not exist, or when
   * the link was made for an earlier task with the same id.
   * @param createdAtS creation time of the task as the link states it, in Unix seconds.
   * @param recordedAt creation time of the task's record as the link states it, in Unix milliseconds.
   */
  readByLink(createdAtS: number, recordedAt: number): TaskReply | null {
    this.#platform.prepare(this.env);
    const record = this.#readable();
    if (record === null || toSeconds(record.createdAt) !== createdAtS) return null;
    if (record.recordedAt !== recordedAt) return null;
    return replyOf(record, "link", this.#loop.policy(), this.#platform.progress.of(record));
  }

  /**
   * Returns the task as `read` does, together with exact times and the data from which the requests of its callback
   * are computed. Null when `read` returns null.
   */
  async inspect(caller: Caller): Promise<InspectedTask | null> {
    const task = await this.read(caller);
    const record = this.#platform.load();
    if (task === null || record === null) return null;
    return { task, facts: taskFacts(record, readerOf(caller), this.#loop.policy()) };
  }

  /** Tells whether there is a task, also one that no reader sees yet, because its price is still being charged. */
  isKnown(): boolean {
    this.#platform.prepare(this.env);
    return this.#platform.load() !== null;
  }

  /**
   * Tells whether the task has no result yet. A task whose price is still being charged counts as having none, although
   * no reader sees it.
   */
  isOpen(): boolean {
    this.#platform.prepare(this.env);
    const record = this.#platform.load();
    return record !== null && !isTerminal(record);
  }

  /**
   * Accepts a WebSocket from a Worker whose client waits for changes of this task. Sends the state of the task over it,
   * now and at each change (watchers.ts). The Worker then reads the task by `read` or `readByLink`, which check the
   * access.
   */
  override async fetch(): Promise<Response> {
    this.#platform.prepare(this.env);
    return this.#platform.watchers.accept(this.#platform.state);
  }

  /**
   * Does the work that is due. When the work fails, another alarm is stored, and the failure is only logged.
   * @throws when no other alarm could be stored. The platform then repeats the present alarm for some minutes.
   * After that, only a request, the cron trigger or `POST /v1/wake` makes the task proceed.
   */
  override async alarm(info?: AlarmInvocationInfo): Promise<void> {
    const scheduledTime = info?.scheduledTime ?? 0;
    try {
      this.#platform.prepare(this.env);
      await this.#loop.wake(scheduledTime);
    } catch (error) {
      const isSet = await this.#platform.recover(error, Math.max(Date.now(), scheduledTime));
      // Throwing here would make the platform repeat this alarm, in addition to the alarm that is set already.
      if (!isSet) throw error;
    }
  }

  /**
   * Stores to which task the job belongs. This is done before the upstream's answer with the job's id is stored, so
   * that whoever knows this answer can find the task.
   */
  async #nameJob({ submissionId, outcome }: SubmitEndedEvent): Promise<void> {
    const record = this.#platform.load();
    const job = outcome.kind === "accepted" || outcome.kind === "result" ? outcome.job : null;
    if (job === null || record === null || record.upstream === null) return;
    if (record.submission?.id !== submissionId) return;
    // A task that has ended keeps the job that it knows, so this one would not be forgotten with it.
    const isOther = record.upstream.job?.id !== job.id;
    if (isTerminal(record) && record.submission.state.kind === "accepted" && isOther) return;
    const connection = addressedName(record, record.upstream);
    await this.#platform.nameJob({ connection, job }, record.id);
  }

  /**
   * Returns the outcome of a submission. If it expects a hook and the hooks of its connection are missing, the returned
   * outcome expects none.
   */
  async #withHookHealth(outcome: SubmitOutcome): Promise<SubmitOutcome> {
    const connection = this.#platform.load()?.upstream?.connection;
    if (outcome.kind !== "accepted" || connection === undefined) return outcome;
    const { job, isHookExpected } = outcome;
    const known = await this.#platform.withHookHealth({ connection, job, isHookExpected });
    return { ...outcome, isHookExpected: known.isHookExpected };
  }

  get #taskId(): string | null {
    return this.ctx.id.name ?? null;
  }

  #outcomeOf(applied: Applied, event: OutsideEvent): string {
    if (applied.kind !== "refused") return applied.kind;
    const { refusal } = applied;
    const isLate =
      "task" in refusal &&
      event.type === "report" &&
      isLateSuccess(this.#platform.load(), event.news);
    return isLate ? "late_result" : refusal.code;
  }

  async #applyEvent(event: OutsideEvent, caller: Caller): Promise<Applied> {
    const refusal = urlRefusalOf(event, this.#platform);
    if (refusal !== null) return refused(refusal);
    const reader = readerOf(caller);
    const known = event.type === "attach" ? await this.#platform.withHookHealth(event) : event;
    const decision = await this.#loop.applyAndErase(attributed(known, caller));
    const chargeId = outstandingCharge(decision);
    const policy = this.#loop.policy();
    if (chargeId === null) return appliedOf(decision, reader, policy);
    const charged = await this.#awaitCharge(decision, chargeId, reader);
    if (charged.kind === "refused" && event.type === "register" && event.submission) {
      // Nobody sends the call of a submission whose caller is answered with a refusal.
      const { id: submissionId } = event.submission;
      const outcome = { kind: "not_sent" } as const;
      await this.#loop.applyAndErase({ type: "submit_ended", submissionId, outcome });
    }
    return charged;
  }

  /** Waits for the ledger's answer to the charge of a new task, and returns the effect of its registration. */
  async #awaitCharge(decision: Decision, chargeId: string, reader: Reader): Promise<Applied> {
    const policy = this.#loop.policy();
    // Only the ledger's answer decides whether the task exists.
    const last = await this.#loop.runUntilIdle();
    if (last?.kind === "erase" && isOfCharge(last.record, chargeId)) {
      return appliedOf(last, reader, policy);
    }
    const record = this.#platform.load();
    if (record === null || record.status === "charging") return refused({ code: "charging" });
    if (record.credits?.chargeId !== chargeId) return refused({ code: "charging" });
    const kind = decision.kind === "changed" ? "recorded" : "repeated";
    return taken(kind, record, reader, policy);
  }

  /** Returns the task. Null when there is none, and while the price of a new task is still being charged. */
  #readable(): CreatedTask | null {
    const record = this.#loop.read();
    return record?.status === "charging" ? null : record;
  }

  /**
   * Returns the job of the task that a caller asks for, and the caller's own key if the task's stored key is gone. Null
   * for a caller who may not read the job. Every call about a job begins with this method.
   */
  #askedJob(question: JobQuestion, caller: Caller) {
    this.#platform.prepare(this.env);
    const record = this.#readable();
    if (record === null || this.#isForeign(caller)) return null;
    const submitted = submittedJobOf(record);
    const asked = askedJobOf(record);
    if (submitted === null || asked === null || !isAskedFor(question, asked)) return null;
    if (!isSubmitter(caller, record)) return null;
    const isKeyGone = hasCustomerKey(record) && sealedKeyOf(record) === null;
    if (isKeyGone && question.ownKey === null) return null;
    return { record, submitted, ownKey: isKeyGone ? question.ownKey : null };
  }

  /**
   * Tells whether the caller is an account that does not own the task.
   * @param isRegistration true when the caller registers the task: its id may still be free, and a task whose price is
   * being charged belongs to the account that has registered it.
   */
  #isForeign(caller: Caller, isRegistration = false): boolean {
    const accountId = accountOf(caller);
    if (accountId === null) return false;
    const record = this.#platform.load();
    if (!isRegistration) return record?.account?.id !== accountId;
    return record !== null && ownerOf(record) !== accountId;
  }
}

/** Tells whether a call asks for this job. If the path of the call names an endpoint, it must be that of the job. */
function isAskedFor(question: JobQuestion, { connection, job }: AttachedJob): boolean {
  if (connection !== question.connection || job.id !== question.jobId) return false;
  const { endpoint } = question;
  return endpoint === null || `${job.endpoint ?? ""}/`.startsWith(`${endpoint}/`);
}

/**
 * Tells whether an account may not learn what the upstream says about a job: the relay has failed and refunded the
 * account's task although the job may have an output, e.g. one that is no file.
 */
function isWithheld(caller: Caller, record: CreatedTask): boolean {
  if (accountOf(caller) === null || record.status !== "failed" || record.credits === null) {
    return false;
  }
  const isConfirmed = record.cancellation?.state.kind === "confirmed";
  const code = errorCodeOf(record.body);
  return code === CANCELED_CODE ? !isConfirmed : code !== "upstream_error";
}

/**
 * Returns the id of the charge of a new task that the ledger has not answered yet. Readers see a task with a price
 * only after the ledger has accepted its charge. Null when no answer is outstanding.
 */
function outstandingCharge(decision: Decision): string | null {
  if (decision.kind !== "changed" && decision.kind !== "unchanged") return null;
  if (decision.record?.status !== "charging") return null;
  const { credits } = decision.record;
  return isCharging(credits) ? credits.chargeId : null;
}

/**
 * Returns the id of the account that owns a task, even while the price of the task is being charged or given back. Null
 * when no account owns it.
 */
function ownerOf({ account, registration }: TaskRecord): string | null {
  return account?.id ?? registration?.accountId ?? null;
}

function isOfCharge(record: TaskRecord, chargeId: string): boolean {
  return record.status === "charging" && record.credits.chargeId === chargeId;
}

/**
 * Returns the submission that an answer of the upstream has just refused. Null for any other outcome, and for a refusal
 * that was known already.
 */
function refusedSubmissionOf(decision: Decision, outcome: SubmitOutcome): RefusedSubmission | null {
  const isNews = decision.kind === "changed" || decision.kind === "erase";
  if (outcome.kind !== "refused" || !isNews || decision.record.upstream === null) return null;
  const { connection } = decision.record.upstream;
  const { refusal, statusCode } = outcome;
  return { connection, refusal, statusCode, hasCustomerKey: hasCustomerKey(decision.record) };
}

/**
 * Returns the level of the log line about the end of a submission. It is `warn` when the outcome is unknown, and when
 * the upstream has refused the operator's own account. It is `info` for a refusal because of a limit or of a customer's
 * key, and `detail` otherwise.
 */
function levelOf({ kind }: SubmitOutcome, submission: RefusedSubmission | null): LogLevel {
  if (kind === "unknown") return "warn";
  if (submission === null || submission.refusal === "final") return "detail";
  return isAboutAccount(submission.refusal) && !submission.hasCustomerKey ? "warn" : "info";
}

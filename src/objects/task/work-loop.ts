import {
  attemptInFlight,
  type Delivery,
  isEndStored,
  isRunning,
  startedDelivery,
} from "../../core/duties/callback-attempt.ts";
import { firstOrderOf, outputsToDelete } from "../../core/duties/copy-order.ts";
import { firstLeaveOf, leaveOf, type QueueLeave } from "../../core/duties/queue-leave.ts";
import { accountFaultOf } from "../../core/events/account-fault.ts";
import type { Decision, EraseReason } from "../../core/events/decision.ts";
import type { PollEndedEvent, TaskEvent } from "../../core/events/event.ts";
import type { Policy } from "../../core/policy.ts";
import { pauseEnd } from "../../core/plans/callback-attempt-plan.ts";
import { hookReportOf } from "../../core/events/hook-report.ts";
import { keptCallToTell } from "../../core/events/submit-again.ts";
import { namedJobsOf } from "../../core/record/submitted-job.ts";
import { isOpen, type TaskRecord } from "../../core/record/task.ts";
import { sameJob } from "../../core/record/upstream.ts";
import { type CallStep, nextStep, type Step, wakeAt } from "../../core/step.ts";
import { DAY_MS, MINUTE_MS } from "../../core/time.ts";
import { transition } from "../../core/transition.ts";
import { linesOfChange, makeCall, unrecordedAttemptLine } from "./calls.ts";
import type { Platform } from "./platform.ts";
import { canWatch, isEarlyEnough, type KnownAlarm } from "./pending-alarm.ts";
import { ProgressCallbacks } from "./progress-callbacks.ts";
import type { EndedAttempt } from "./sender-binding.ts";
import { TriedUntil } from "./tried-until.ts";

/**
 * Longest time in milliseconds from now for which an alarm is set, because the platform allows less than 30 days. For a
 * later time, several alarms follow one another: each sets the next.
 */
const MAX_ALARM_AHEAD_MS = 29 * DAY_MS;
/**
 * Delay in milliseconds. When a task's next step is overdue by more than this, its alarm counts as lost, and a read of
 * the task sets it again.
 */
const OVERDUE_MS = MINUTE_MS;
/** Limit on the steps (events and calls) of one run of the loop, as a guard against an endless loop. */
const MAX_STEPS_PER_RUN = 100;

/**
 * The loop that does the work of one task. Each instance of the task's object has one. It loads the record, asks
 * src/core for the next step, commits the change and makes the call. A record that was read before an `await` is never
 * stored after it: the result of a call becomes an event, which is applied to the record that is stored at that moment.
 */
export class WorkLoop {
  readonly #platform: Platform;
  #running = false;
  /**
   * The present or last run of the loop. The promise resolves to the effect of the last event that the run has applied.
   */
  #run: Promise<Decision | null> = Promise.resolve(null);
  /**
   * The callback attempt that this instance has stored as started, and that the present run sends next; null when there
   * is none. No other instance and no later run sends it: an earlier one may have done so before it failed.
   */
  #started: Delivery | null = null;
  /**
   * Time for which the alarm of the task's object is set, in Unix milliseconds; null when this instance does not know.
   */
  #armedFor: number | null = null;
  /** Time for which the alarm that is being handled was set, in Unix milliseconds; 0 when no alarm is being handled. */
  #alarmTime = 0;
  #isAlarmRunning = false;
  /**
   * Latest time that the loop has seen, in Unix milliseconds. The loop never uses an earlier time, even when the clock
   * of the machine is put back.
   */
  #clock = 0;
  #callInFlight: AbortController | null = null;
  /**
   * Record with which the present run takes its step. Because it is referenced here, it stays in memory until the call
   * of the step has ended. Null between two runs.
   */
  #inWork: TaskRecord | null = null;
  readonly #tried = new TriedUntil();
  readonly #progress: ProgressCallbacks;

  constructor(platform: Platform) {
    this.#platform = platform;
    this.#progress = new ProgressCallbacks(platform, {
      now: () => this.#now(),
      isPaused: (url) => this.#pauseEnd(url) !== null,
    });
  }

  /** Applies an event to the stored record, and starts a run of the loop if there is work to do now. */
  apply(event: TaskEvent): Decision {
    const now = this.#now();
    const settings = this.#platform.policy(now);
    const before = this.#platform.load();
    // The index may have lost the row, although this instance has written it.
    if (event.type === "rewrite_index_row") this.#tried.forgetIndexRow();
    const policy = { ...settings, ...this.#tried.at(now) };
    const decision = transition(before, event, policy, now);
    if (decision.kind === "changed") this.#commit(before, decision.record, policy, now);
    const after = decision.kind === "changed" ? decision.record : before;
    const report = hookReportOf(before, event, after);
    if (report !== null) this.#platform.reportHook(report);
    const fault = accountFaultOf(before, event, after);
    if (fault !== null) this.#platform.reportAccountFault(fault);
    const order = decision.kind === "changed" ? firstOrderOf(before, decision.record) : null;
    if (order !== null) this.#platform.startCopies(order);
    const leave = decision.kind === "changed" ? firstLeaveOf(before, decision.record) : null;
    if (leave !== null) this.#platform.background(this.#leaveFirst(leave));
    const call = decision.kind === "changed" ? keptCallToTell(before, decision.record) : null;
    if (call !== null) this.#platform.tellKeptCall(call);
    this.#progress.follow(before, event, after, policy, now);
    return decision;
  }

  /** Leaves the queues of a submission that has just come to need no place. If this fails, `leaveQueues` repeats it. */
  async #leaveFirst(leave: QueueLeave): Promise<void> {
    const { submissionId } = leave;
    const isLeft = await this.#platform.leaveQueues(leave);
    if (isLeft) this.apply({ type: "queue_left", submissionId, isLeft });
  }

  /** Applies an answer that counts as one to a poll, but was read for a client's request and not by a planned poll. */
  async applyAnswer(event: PollEndedEvent): Promise<Decision> {
    const record = this.#platform.load();
    // An ended task ignores the answer, which therefore takes the place of no late poll.
    const job = record !== null && isOpen(record) ? (record.upstream?.job ?? null) : null;
    if (sameJob(job, event.job)) this.#tried.noteRead(event.askedAt);
    return await this.applyAndErase(event);
  }

  /** Returns the settings, and the times up to which this instance has tried planned index writes and polls. */
  policy(now = this.#now()): Policy {
    return { ...this.#platform.policy(now), ...this.#tried.at(now) };
  }

  /**
   * Applies an event to the stored record. When the event erases the task, first leaves the queues of its submission,
   * deletes the copies of its outputs and the entries that say to which task its jobs belong, and then the record and the
   * alarm. If the task has changed meanwhile, so that it is not erased, it goes on, and its job may run without a place.
   */
  async applyAndErase(event: TaskEvent): Promise<Decision> {
    const first = this.apply(event);
    if (first.kind !== "erase") return first;
    const leave = leaveOf(first.record);
    if (leave !== null) await this.#leaveLast(leave, first.because);
    const outputs = outputsToDelete(first.record);
    if (outputs !== null) await this.#platform.deleteOutputs(outputs);
    const jobs = namedJobsOf(first.record);
    for (const job of jobs) await this.#platform.forgetJob(job, first.record.id);
    // The task may have changed meanwhile.
    const isSame = leave === null && outputs === null && jobs.length === 0;
    const decision = isSame ? first : this.apply(event);
    if (decision.kind !== "erase") return decision;
    // A job that was named meanwhile has an entry too, and so may another task that has got the id.
    if (decision.record.version !== first.record.version) return await this.applyAndErase(event);
    this.#armedFor = null;
    this.#tried.forgetIndexRow();
    // A later task under this id must get a higher version, even within the same millisecond.
    this.#clock = Math.max(this.#clock, decision.record.version + 1);
    await this.#platform.erase();
    return decision;
  }

  /**
   * Leaves the queues of a submission whose task is to be erased. A task that was not submitted is erased even when this
   * fails, because its caller waits for that; a queue that does not know of it asks for the task later.
   * @throws when it fails for a task that has ended.
   */
  async #leaveLast(leave: QueueLeave, because: EraseReason): Promise<void> {
    const isLeft = await this.#platform.leaveQueues(leave).catch(() => false);
    if (!isLeft && because === "settled") {
      throw new Error("the queues of the submission could not be left");
    }
  }

  /**
   * Runs the loop until no work is due; if a run is under way, waits for it. Returns the effect of the last event that
   * the run has applied; null when it has applied none.
   */
  async runUntilIdle(): Promise<Decision | null> {
    let last: Decision | null;
    do last = await this.#start();
    while (this.#running);
    return last;
  }

  /**
   * Returns the stored record for a reader. Stores nothing, but sets the alarm again when the next step of the task is
   * so overdue that its alarm must have been lost.
   */
  read(): TaskRecord | null {
    const record = this.#platform.load();
    if (record === null || this.#running) return record;
    const now = this.#now();
    const wake = wakeAt(record, this.policy(now));
    if (wake < now - OVERDUE_MS) this.#platform.setAlarm(this.#armable(now, now));
    return record;
  }

  /**
   * Sets the alarm of the task again, and starts work that is due, including a write to the index that failed before.
   * @returns false when there is no task.
   */
  resume(): boolean {
    const record = this.#platform.load();
    if (record === null || this.#running) return record !== null;
    const now = this.#now();
    this.#tried.orderIndexWrite(now);
    const policy = this.policy(now);
    const isDue = nextStep(record, policy, now) !== null;
    const alarmAt = isDue ? now + policy.watchdogMs : wakeAt(record, policy);
    this.#setAlarm(alarmAt, now);
    if (isDue) this.#platform.background(this.#start());
    return true;
  }

  /**
   * Handles an alarm. It returns only when the work has ended: after a crash, the platform repeats an alarm only if its
   * handler has not returned. An attempt whose receiver is slow goes on without it, under the watchdog alarm.
   */
  async wake(scheduledTime: number): Promise<void> {
    // After a crash the platform does not repeat an alarm when a later one has been set already.
    this.#isAlarmRunning = this.#armedFor === null || this.#armedFor <= scheduledTime;
    this.#alarmTime = scheduledTime;
    this.#armedFor = null;
    this.#tried.noteAlarm(scheduledTime);
    try {
      await this.runUntilIdle();
    } catch (error) {
      // The object sets another alarm, of which the loop does not know.
      this.#armedFor = null;
      throw error;
    } finally {
      this.#isAlarmRunning = false;
      this.#alarmTime = 0;
    }
  }

  #start(): Promise<Decision | null> {
    if (!this.#running) {
      this.#running = true;
      this.#run = this.#takeSteps();
    }
    return this.#run;
  }

  async #takeSteps(): Promise<Decision | null> {
    let last: Decision | null = null;
    try {
      for (let steps = 0; steps < MAX_STEPS_PER_RUN; steps++) {
        this.#inWork = this.#platform.load();
        const record = this.#inWork;
        if (record === null) return last;
        const started = this.#started;
        this.#started = null;
        if (started !== null && isRunning(record, started)) {
          last = (await this.#send(started)) ?? last;
          continue;
        }
        const now = this.#now();
        const policy = this.policy(now);
        const step = nextStep(record, policy, now);
        const reading = startsAttempt(step) ? this.#platform.readPauses() : null;
        if (reading !== null) {
          await reading;
          continue;
        }
        if (step === null) {
          const wake = wakeAt(record, policy);
          if (!this.#isArmedFor(wake, record, now)) this.#setAlarm(wake, now);
          return last;
        }
        last = await this.#perform(step);
      }
      throw new Error(`the work loop has taken ${MAX_STEPS_PER_RUN} steps without an end`);
    } finally {
      // The flag is cleared in the turn in which nothing was due, so that the next event starts another
      // run.
      this.#running = false;
      this.#started = null;
      this.#inWork = null;
    }
  }

  /** Tells whether the alarm is set for the next step. While an attempt is running, an earlier alarm stays. */
  #isArmedFor(wake: number, record: TaskRecord, now: number): boolean {
    const isSending = attemptInFlight(record) !== null;
    return isSending ? isEarlyEnough(this.#armedFor, wake, now) : this.#armedFor === wake;
  }

  async #perform(step: Step): Promise<Decision> {
    return step.kind === "event" ? this.applyAndErase(step.event) : this.#call(step);
  }

  async #call(step: CallStep): Promise<Decision> {
    const aborter = new AbortController();
    this.#callInFlight = aborter;
    const now = this.#now();
    if (step.kind === "writeIndexRow") this.#tried.noteIndexWrite(now);
    if (step.kind === "poll") this.#tried.notePoll(now);
    const outcome = await makeCall(step, this.#platform, aborter.signal, now);
    this.#callInFlight = null;
    this.#tried.endCall(this.#now());
    const { event } = outcome;
    if (event.type === "poll_ended") this.#noteAnswer(event);
    if (event.type === "index_row_ended" && event.isWritten) {
      this.#tried.noteIndexRow(event.version);
    }
    const decision = await this.applyAndErase(event);
    this.#platform.log(() => outcome.line, outcome.level);
    return decision;
  }

  #noteAnswer({ answer, askedAt }: PollEndedEvent): void {
    const now = this.#now();
    if (answer.kind === "deferred") this.#tried.deferPoll(askedAt, now + answer.waitMs);
    else this.#tried.endPoll(now);
  }

  /** Sends an attempt, if its host is not paused. Returns null while its receiver has not answered. */
  async #send(delivery: Delivery): Promise<Decision | null> {
    const { number } = delivery;
    const reading = this.#platform.readPauses();
    if (reading !== null) await reading;
    const until = this.#pauseEnd(delivery.url);
    if (until !== null) return this.apply({ type: "attempt_rested", number, until });
    const ended = await this.#platform.send(delivery);
    this.#tried.endCall(this.#now());
    return ended === null ? null : this.endAttempt(ended);
  }

  /**
   * Applies the end of an attempt as its sender reports it: soon after it was sent or later, perhaps to another instance,
   * and perhaps again. The end of an attempt that is not running any more changes nothing.
   */
  endAttempt(ended: EndedAttempt): Decision {
    const { attempt, result, endedAt } = ended;
    const { number, startedAt } = attempt;
    const sent = { startedAt, endedAt };
    const decision = this.apply({ type: "attempt_ended", number, sent, ...result });
    if (decision.kind === "changed") {
      // A run sets the alarm for the next step; otherwise the watchdog alarm would fire for nothing.
      if (!this.#running) this.#platform.background(this.#start());
    } else if (!isEndStored(this.#platform.load(), attempt, result)) {
      const { line, level } = unrecordedAttemptLine(ended);
      this.#platform.log(() => line, level);
    }
    return decision;
  }

  /**
   * Returns the end of the pause of the host of a URL, which may not have been known when an attempt was started. Null when
   * the host is not paused.
   */
  #pauseEnd(url: string): number | null {
    const now = this.#now();
    return pauseEnd(url, this.policy(now), now);
  }

  #commit(before: TaskRecord | null, record: TaskRecord, policy: Policy, now: number): void {
    const started = startedDelivery(before, record);
    const dueAt = wakeAt(record, policy);
    const isDue = started !== null || dueAt <= now;
    const alarmAt = isDue ? now + policy.watchdogMs : dueAt;
    const isKept = isDue
      ? canWatch(this.#knownAlarm, record, alarmAt, now)
      : isEarlyEnough(this.#armedFor, alarmAt, now);
    this.#platform.commit(record, isKept ? null : this.#armable(alarmAt, now));
    if (!isKept) this.#armedFor = alarmAt;
    for (const { line, level } of linesOfChange(before, record, now)) {
      this.#platform.log(() => line, level);
    }
    // A call in flight must not delay the first attempt of the callback.
    if (isEndSeen(before, record)) this.#callInFlight?.abort();
    if (started !== null) this.#started = started;
    if (isDue && !this.#running) this.#platform.background(this.#start());
  }

  get #knownAlarm(): KnownAlarm {
    // The handler of an alarm waits for the run that is running, but not for one that starts afterwards.
    return { armedFor: this.#armedFor, isRunning: this.#isAlarmRunning && this.#running };
  }

  /**
   * Sets the alarm of the task's object, and remembers its time. The time is not remembered when the storage throws an
   * error.
   */
  #setAlarm(at: number, now: number): void {
    this.#platform.setAlarm(this.#armable(at, now));
    this.#armedFor = at;
  }

  /** Returns the time nearest to `at` for which an alarm can be set without the platform losing it (workerd #6866). */
  #armable(at: number, now: number): number {
    return Math.min(Math.max(at, now + 1), now + MAX_ALARM_AHEAD_MS);
  }

  #now(): number {
    this.#clock = Math.max(this.#clock, this.#platform.now(), this.#alarmTime);
    return this.#clock;
  }
}

/** Tells whether a step starts an attempt of the callback, before which it must be known which hosts are paused. */
function startsAttempt(step: Step | null): boolean {
  return step?.kind === "event" && step.event.type === "attempt_started";
}

/**
 * Tells whether a change is one of an ended task that readers see. Others, such as the answer of a queue that was left,
 * begin no attempt.
 */
function isEndSeen(before: TaskRecord | null, after: TaskRecord): boolean {
  return !isOpen(after) && after.version !== before?.version;
}

import { POLL_TIMEOUT_MS } from "../../src/lib/timeout.ts";
import { WorkLoop } from "../../src/objects/task/work-loop.ts";
import { isRunning } from "../../src/core/duties/callback-attempt.ts";
import { outputsToDelete } from "../../src/core/duties/copy-order.ts";
import type { Poll } from "../../src/core/duties/poll.ts";
import { callStartOf } from "../../src/core/events/call-start.ts";
import type { Decision } from "../../src/core/events/decision.ts";
import type { PollEndedEvent, SubmitEndedEvent } from "../../src/core/events/event.ts";
import type { EndedAttempt } from "../../src/objects/task/sender-binding.ts";
import { MINUTE, NOW } from "../core/builders.ts";
import { answerFault, chargingOf } from "./answer-rules.ts";
import { cancelRestFault } from "./cancel-rules.ts";
import { SimulatedLedger } from "./ledger.ts";
import { type Alarm, Disk } from "./disk.ts";
import { type SharedState, ObjectHost, StorageFault } from "./object-host.ts";
import { SimulatedObject } from "./simulated-object.ts";
import { type Move, type OutsideEvent } from "./moves.ts";
import type { OpenCall } from "./open-call.ts";
import { ANSWERED_OUTCOMES, Parties, SENDER_ACTS, type SlowSender } from "./parties.ts";
import { isForPoll } from "./poll-rules.ts";
import { isSuperseded, readFault, restFault, readWriteFault } from "./rest-rules.ts";
import { runMicrotasks, untilQuiet } from "./microtasks.ts";
import { submittedJobOf } from "../../src/core/record/submitted-job.ts";
import { hasStoredFiles } from "../../src/core/record/outputs.ts";
import { isTerminal, type TaskRecord } from "../../src/core/record/task.ts";
import { type InitialState, type Setting, settingFor } from "./setting.ts";
import { type Submitting, Submitters } from "./submitters.ts";
import { InvariantChecker } from "./invariant-checker.ts";

/** A client's read of the job whose request has left. */
type JobRead = Pick<PollEndedEvent, "job" | "askedAt">;
type Instance = { readonly instance: SimulatedObject; readonly loop: WorkLoop };

/** One task id with its object, its host and all other parties. */
export class World implements SharedState {
  readonly disk = new Disk();
  readonly checker: InvariantChecker;
  readonly outside: Parties;
  readonly submitters: Submitters;
  readonly ledger: SimulatedLedger;
  readonly isRoundTripped: boolean;
  clock = NOW;
  deathIn: number | null = null;
  faultyReads = 0;
  hadFault = false;
  setting: Setting;
  /** States that notices to the operator were switched off at some time. */
  hadNoticesOff = false;
  hadIndexOff = false;
  readonly pauses = new Map<string, number>();
  readonly #host: ObjectHost;
  #current: Instance | null = null;
  #isMisconfigured = false;
  #runningAlarm: Alarm | null = null;
  #lastAlarm: Alarm | null = null;
  /** Time for which the alarm was set that was late when the latest event came; null when none was. */
  #lateAlarmAt: number | null = null;
  #charges = 0;
  #submissions = 0;
  /** Time of the first of the moves after which the work was not waited for; null when it has come to rest since. */
  #haltedAt: number | null = null;
  /** Registrations with a submission that the living instance has not answered. */
  readonly #unanswered = new Set<Submitting>();
  /** Number of events and answers to reads that were brought to the object. */
  #events = 0;
  /** Clients' reads of the job in which the upstream has not answered the living instance. */
  #jobReads: JobRead[] = [];

  constructor(beginning: InitialState, isTraced: boolean) {
    const { setting, granted, monthlyLimit, hasAccount, isRoundTripped } = beginning;
    this.setting = setting;
    this.#deploy(setting);
    this.isRoundTripped = isRoundTripped;
    this.ledger = new SimulatedLedger(granted, monthlyLimit);
    this.ledger.hasAccount = hasAccount;
    this.checker = new InvariantChecker(this, isTraced);
    this.submitters = new Submitters(this.checker);
    const isConfirmed = ({ submitted, job }: Poll) =>
      submitted === null || this.submitters.isOwn(submitted.id, job.id);
    this.outside = new Parties(this.ledger, this.checker, () => this.clock, isConfirmed);
    this.#host = new ObjectHost(this);
  }

  get runningAlarmAt(): number | null {
    return this.#runningAlarm?.at ?? null;
  }
  /**
   * Time for which the work is planned that may start now: an alarm that comes late, and an event that comes before
   * such an alarm, start work that was due at the time of the alarm.
   */
  get plannedAt(): number {
    const alarmAt = this.runningAlarmAt ?? this.#lateAlarmAt ?? Infinity;
    return Math.min(this.now, alarmAt);
  }

  /** `plannedAt`, or an earlier time: work that goes on after a pause between two turns was decided before the pause. */
  get decidedAt(): number {
    return Math.min(this.plannedAt, this.#haltedAt ?? Infinity);
  }

  get now(): number {
    return Math.max(this.clock, this.runningAlarmAt ?? 0, this.instance?.latest ?? 0);
  }

  /** Number of clients' reads of the job that the upstream has not answered. */
  get jobReads(): number {
    return this.#jobReads.length;
  }

  get instance(): SimulatedObject | null {
    return this.#current?.instance ?? null;
  }

  /** Makes a move, lets everything happen that follows from it, and checks the state afterwards. */
  async do(move: Move): Promise<void> {
    this.checker.note(() => `${((this.clock - NOW) / 1000).toFixed(3)} s  ${JSON.stringify(move)}`);
    await this.#perform(move);
    if (move.turns !== undefined) {
      this.#haltedAt ??= this.now;
      return runMicrotasks(move.turns);
    }
    await this.#settle();
    this.#haltedAt = null;
    this.checker.check("an alarm covers all work", restFault(this, this.instance));
    this.checker.onRest(this.instance);
    const { history } = this.checker;
    this.checker.check("cancellation", cancelRestFault(this, this.instance, history));
  }

  flush(): void {
    this.disk.flush();
    this.checker.onFlush();
  }

  died(): void {
    this.checker.note(() => "  the instance dies");
    this.#current = null;
    this.#jobReads = [];
    this.deathIn = null;
    this.outside.abandonCalls();
    this.checker.observed.add(this.disk.isDirty ? "a commit is lost" : "an instance dies");
    this.disk.lose(this.#runningAlarm);
    this.checker.onLoss();
    this.#runningAlarm = null;
    // Their Workers get an error, and none of them sends its call.
    for (const unanswered of this.#unanswered) this.submitters.giveUp(unanswered);
    this.#unanswered.clear();
  }

  async #perform(move: Move): Promise<void> {
    switch (move.kind) {
      case "event":
        // An order to erase takes time: attempts of two tasks with the same id never start in the same millisecond.
        if (move.event.type === "erase") this.clock += 1;
        void this.#apply(move.event);
        return;
      case "read":
        return this.#read();
      case "readJob":
        return this.#readJob();
      case "answerReader":
        void this.#answerReader(move.pick, move.ending);
        return;
      case "end":
        this.outside.openCalls[move.pick % this.outside.openCalls.length]?.end(move.ending);
        return;
      case "defer":
        return this.outside.defer();
      case "sender":
        return this.#goOn(move.pick, move.act);
      case "arriveLate":
        this.outside.arriveLate(move.pick);
        return;
      case "submit":
        this.#proceed(move.pick, move.ending);
        return;
      case "lose":
        this.submitters.lose(move.pick);
        return;
      case "ring":
        return this.#ring(move.lateMs, move.isSlow);
      case "duplicateAlarm":
        if (this.#runningAlarm !== null || isSuperseded(this.disk.durable, this.instance)) return;
        if (this.#lastAlarm !== null) this.#handle(this.#lastAlarm);
        return;
      case "pass":
        return this.#pass(move.ms, move.isSlow);
      case "crash":
        if (move.afterPoints === 0) this.instance?.die();
        else this.deathIn = move.afterPoints - 1;
        return;
      case "deploy":
        return this.#deploy(move.setting);
      case "misconfigure":
        this.#isMisconfigured = move.isBroken;
        if (move.isBroken) this.hadFault = true;
        this.instance?.die();
        return;
      case "fault":
        this.faultyReads = move.reads;
        if (move.reads > 0) this.hadFault = true;
        return;
      case "pause":
        this.pauses.set(move.host, this.clock + move.ms);
        return;
      case "resume":
        this.pauses.delete(move.host);
        return;
      case "adjust":
        this.ledger.granted += move.amount;
    }
  }

  /** Lets the sender of a slow attempt do its next act. */
  #goOn(pick: number, act: number): void {
    const { senders } = this.outside;
    const sender = senders[pick % senders.length];
    if (sender === undefined) return;
    const outcome = ANSWERED_OUTCOMES[act % SENDER_ACTS];
    if (sender.ended !== null) return this.#report(sender);
    if (act % SENDER_ACTS === SENDER_ACTS - 1) {
      this.checker.observed.add("a sender dies");
      this.outside.senders = senders.filter((one) => one !== sender);
      return;
    }
    this.outside.endSending(sender, outcome ?? "delivered");
    if (outcome !== undefined) this.#report(sender);
  }

  /** Brings the end of a slow attempt to the object, as `TaskObject.endAttempt` takes it. */
  #report(sender: SlowSender): void {
    const { ended } = sender;
    if (ended === null || this.#isMisconfigured) return;
    this.#noteReport(sender, ended);
    // The attempt of a later task with the same id may have the same number and start.
    this.checker.onSendResult(ended.attempt, ended.result.outcome, ended.endedAt);
    const { instance, loop } = this.#start();
    try {
      loop.endAttempt(ended);
      instance.leave();
      sender.isReported = true;
    } catch (error) {
      this.#host.uncaught(error);
    }
  }

  #noteReport({ isReported }: SlowSender, { attempt }: EndedAttempt): void {
    const { record } = this.disk.written;
    const { observed, history } = this.checker;
    const isOfThisLife = history?.posts.some(({ startedAt }) => startedAt === attempt.startedAt);
    if (isReported) observed.add("the end of an attempt is reported again");
    else if (isRunning(record, attempt)) observed.add("the end of a slow attempt is reported");
    else if (record !== null && isOfThisLife === true) observed.add("an end is reported too late");
    if (record !== null && isOfThisLife === false)
      observed.add("an end is reported to a later task with the same id");
  }

  /** Lets a Worker that submits a job do its next act. */
  #proceed(pick: number, ending: number): void {
    if (this.#isMisconfigured) return;
    const brought = this.submitters.proceed(pick, ending);
    if (brought !== null) void this.#apply(brought);
  }

  #deploy(setting: Setting): void {
    this.instance?.die();
    this.setting = setting;
    this.hadNoticesOff ||= !setting.isOperatorNotified;
    this.hadIndexOff ||= !setting.isIndexed;
  }

  #start(): Instance {
    if (this.#current === null) {
      const instance = new SimulatedObject(this.#host);
      this.#current = { instance, loop: new WorkLoop(instance) };
    }
    return this.#current;
  }

  /** Applies an event of a caller. The answer leaves when everything written before it is durable. */
  async #apply(given: OutsideEvent): Promise<void> {
    if (this.#isMisconfigured) return;
    const event = this.#truthful(this.#numbered(given));
    if (event === null) return;
    const submitting = submittingOf(event);
    if (submitting !== null) this.#unanswered.add(submitting);
    if (submitting !== null) this.submitters.store(submitting);
    const instance = this.#start();
    try {
      const isRecorded = await this.#answered(event, instance);
      if (submitting === null || !this.#unanswered.delete(submitting)) return;
      if (isRecorded) this.submitters.begin(submitting);
    } catch (error) {
      this.#host.uncaught(error);
      if (submitting !== null && this.#unanswered.delete(submitting))
        this.submitters.giveUp(submitting);
    }
  }

  /** Returns whether the answer to an event says that it was recorded, as in `TaskObject.apply`. */
  async #answered(event: OutsideEvent, { instance, loop }: Instance): Promise<boolean> {
    const decision = await this.#decided(event, { instance, loop });
    if (event.type === "submit_ended") {
      const isHidden = decision.kind === "changed" && decision.record.status === "charging";
      if (isHidden) await loop.runUntilIdle();
      this.submitters.answerEnd(event.submissionId, areFilesOf(instance.load(), event));
      return true;
    }
    if (event.type === "call_started") {
      this.submitters.answerStart(event.submissionId, callStartOf(instance.load(), event));
    }
    const isRecorded = decision.kind === "changed";
    const chargeId = chargingOf(decision);
    if (chargeId === null || (await this.#isCharged(chargeId, { instance, loop }))) {
      return isRecorded;
    }
    const submissionId = submittingOf(event)?.submission.id ?? null;
    if (submissionId === null) return false;
    const outcome = { kind: "not_sent" } as const;
    await this.#decided({ type: "submit_ended", submissionId, outcome }, { instance, loop });
    return false;
  }

  /** Waits for the answer to a charge. Returns whether the task of the charge exists then. */
  async #isCharged(chargeId: string, { instance, loop }: Instance): Promise<boolean> {
    const last = await loop.runUntilIdle();
    if (!instance.isDead) this.checker.onChargeEnd(chargeId, last);
    const record = instance.load();
    const isVisible = record !== null && record.status !== "charging";
    if (!isVisible || record.credits?.chargeId !== chargeId) return false;
    instance.leave();
    return true;
  }

  /** Returns what is stored of a task after its erasure: not a later task with its id, which has a higher version. */
  #leftOf(erased: TaskRecord): TaskRecord | null {
    const { record } = this.disk.written;
    return record !== null && record.version > erased.version ? null : record;
  }

  /** Applies an event, checks its effect, and makes it durable. */
  async #decided(event: OutsideEvent, { instance, loop }: Instance): Promise<Decision> {
    this.#events++;
    const before = this.disk.written.record;
    const alarmAt = this.disk.written.alarm?.at ?? Infinity;
    this.#lateAlarmAt = alarmAt < this.now ? alarmAt : null;
    this.checker.onEvent(event, before);
    const erasures = event.type === "erase" ? 1 : 0;
    this.checker.erasures += erasures;
    instance.commits.length = 0;
    const { now } = this;
    const setting = settingFor(before, this.setting);
    instance.isRowOrdered = event.type === "rewrite_index_row";
    const ended = loop.applyAndErase(event);
    instance.isRowOrdered = false;
    const commits = [...instance.commits];
    const isLater = erasures > 0 && isErasedLater(before);
    const early = this.disk.written.record;
    const decision = await ended.finally(() => {
      // The loss of an instance has taken back its orders already.
      if (!instance.isDead) this.checker.erasures = Math.max(0, this.checker.erasures - erasures);
    });
    const after = isLater && decision.kind === "erase" ? this.#leftOf(decision.record) : early;
    const answer = { event, before, after, commits, decision, setting, now };
    if (!instance.isDead) this.checker.check("answer", answerFault(answer));
    // As in `TaskObject.rewriteIndexRow`.
    if (event.type === "rewrite_index_row" && decision.kind === "unchanged") loop.resume();
    instance.leave();
    this.checker.note(() => `  answer ${decision.kind}`);
    return decision;
  }

  #read(): void {
    if (this.#isMisconfigured) return;
    const { instance, loop } = this.#start();
    try {
      const before = this.disk.written;
      const read = loop.read();
      this.checker.check("read-your-writes", readFault(read, before.record));
      this.checker.check("read", readWriteFault(this, before));
      instance.leave();
    } catch (error) {
      this.#host.uncaught(error);
    }
  }

  /** Lets a client read the submitted job, as `TaskObject.readJob` does. */
  #readJob(): void {
    if (this.#isMisconfigured) return;
    const { instance } = this.#start();
    try {
      const record = instance.load();
      const submitted = record === null ? null : submittedJobOf(record);
      if (submitted === null) return;
      instance.leave();
      this.#jobReads.push({ job: submitted.job, askedAt: this.now });
    } catch (error) {
      this.#host.uncaught(error);
    }
  }

  /** Brings the upstream's answer to a client's read of the job to the instance that has asked. */
  async #answerReader(pick: number, ending: number): Promise<void> {
    const [read] = this.#jobReads.splice(pick % Math.max(1, this.#jobReads.length), 1);
    if (read === undefined || this.#current === null) return;
    const isInTime = this.now - read.askedAt <= POLL_TIMEOUT_MS;
    const answer = isInTime ? this.outside.answerToRead(read.job, ending) : null;
    if (answer === null) return;
    this.#events++;
    const { instance, loop } = this.#current;
    const isPolling = this.outside.of(instance).some(({ what }) => what === "poll");
    if (isPolling) this.checker.observed.add("a client reads the job during a poll");
    this.checker.note(() => `  the read is answered: ${JSON.stringify(answer)}`);
    // An answer that meets a fault of the storage is not applied.
    if (this.faultyReads === 0) this.checker.onReadAnswer(read, answer, instance);
    try {
      const applied = loop.applyAnswer({ type: "poll_ended", purpose: "result", ...read, answer });
      this.checker.onReadApplied();
      await applied;
    } catch (error) {
      this.#host.uncaught(error);
    }
  }

  async #ring(lateMs: number, isSlow: boolean): Promise<void> {
    // An alarm fires only after earlier writes are durable.
    this.flush();
    const { alarm } = this.disk.durable;
    if (alarm === null || this.#runningAlarm !== null) return;
    await this.#pass(Math.max(0, alarm.at + lateMs - this.clock), isSlow);
    // Calls that have ended meanwhile may have set another alarm; an alarm whose time has changed does not
    // fire, also before the change is durable.
    this.flush();
    const due = this.disk.durable.alarm;
    if (due === null || due.at > this.clock) return;
    this.disk.write({ alarm: null });
    this.flush();
    this.#handle(due);
  }

  /** Runs the handler of an alarm like the runtime and `TaskObject.alarm`. */
  #handle(alarm: Alarm): void {
    const mustPoll = alarm !== this.#lastAlarm && isForPoll(this, alarm, this.instance);
    this.#runningAlarm = alarm;
    this.#lateAlarmAt = null;
    this.#lastAlarm = alarm;
    this.checker.history?.recordAlarm(this.now);
    const { instance, loop } = this.#start();
    const { polls, rowVersion, rowTries } = instance;
    const events = this.#events;
    // The handler has ended only when its writes are durable.
    const ended = () => {
      if (instance.isDead) return;
      // What comes before the poll, because the alarm has joined a run, may have moved the poll.
      const isMoved = this.#events > events;
      const isPolled = !mustPoll || this.hadFault || instance.polls > polls || isMoved;
      this.checker.require("poll", { "an alarm that is set for a poll leads to one": isPolled });
      // A write that was under way when the alarm fired may be the first one, however late the alarm was.
      if (instance.rowVersion !== rowVersion && instance.rowTries > rowTries) {
        this.checker.onAlarmEnd(alarm.at, instance);
      }
      this.flush();
      this.#runningAlarm = null;
    };
    const failed = (error: unknown) => {
      this.#host.uncaught(error);
      const at = Math.max(this.clock, alarm.at) + MINUTE;
      if (!instance.isDead) this.#host.setAlarm(at, instance);
      ended();
    };
    const work = this.#isMisconfigured ? Promise.reject(new StorageFault()) : loop.wake(alarm.at);
    void work.then(ended, failed);
  }

  /** Lets time pass. Calls without an answer time out, unless the machine is too slow for that. */
  async #pass(ms: number, isSlow: boolean): Promise<void> {
    const until = this.clock + ms;
    for (;;) {
      const next = isSlow ? undefined : this.#firstToExpire(until);
      if (next === undefined) break;
      this.clock = Math.max(this.clock, next.endsBy);
      next.expire();
      await this.#settle();
    }
    this.clock = ms < 0 ? until : Math.max(this.clock, until);
  }

  /** Returns the call, also one of a sender, that times out first. @param until time in Unix milliseconds. */
  #firstToExpire(until: number): Pick<OpenCall, "endsBy" | "expire"> | undefined {
    const call = this.outside.firstToExpire(until);
    const sender = this.outside.firstSenderToExpire(call?.endsBy ?? until);
    if (sender === undefined) return call;
    const expire = () => {
      this.outside.endSending(sender, "timeout");
      this.#report(sender);
    };
    return { endsBy: sender.endsBy, expire };
  }

  async #settle(): Promise<void> {
    await untilQuiet(() => this.instance?.points);
    this.flush();
  }

  /** Gives each registration its own charge id, and its own submission, whose key is sealed with the newest secret. */
  #numbered(event: OutsideEvent): OutsideEvent {
    if (event.type !== "register") return event;
    const chargeId = event.chargeId === null ? null : `charge-${++this.#charges}`;
    const { submission } = event;
    if (submission === undefined) return { ...event, chargeId };
    const id = `submission-${++this.#submissions}`;
    const own = { ...submission, id };
    if (submission.customerKey === undefined) return { ...event, chargeId, submission: own };
    // The Worker has the same configuration as the object.
    const [sealedWith = ""] = this.setting.secretIds;
    const customerKey = { ...submission.customerKey, sealedWith };
    return { ...event, chargeId, submission: { ...own, customerKey } };
  }

  /**
   * Returns a hook to the URL of a submission as its upstream can send it: it knows the URL only from the call, and
   * signs only what is true. Null for a hook that cannot come. Any other event is returned as it is.
   */
  #truthful(event: OutsideEvent): OutsideEvent | null {
    if (event.type !== "hook" || event.submissionId === undefined) return event;
    const { submissionId: id, jobId } = event;
    if (!this.submitters.sent.includes(id)) return null;
    const isTrue =
      jobId === null ? this.submitters.hasStarted(id) : this.submitters.isOwn(id, jobId);
    return { ...event, isSigned: event.isSigned && isTrue };
  }
}

/** Returns, as `TaskObject.endCall`, whether files that the object of a call has stored belong to the task. */
function areFilesOf(record: TaskRecord | null, { submissionId }: SubmitEndedEvent): boolean {
  if (record === null || record.submission?.id !== submissionId) return false;
  return isTerminal(record) && record.outputs !== null && hasStoredFiles(record.outputs);
}

function submittingOf(event: OutsideEvent): Submitting | null {
  if (event.type !== "register" || event.submission === undefined) return null;
  return { ...event, submission: event.submission };
}

/**
 * Tells whether other events may come before the erasure of a task: copies of its outputs are deleted first, and its
 * submitted job is forgotten.
 */
function isErasedLater(record: TaskRecord | null): boolean {
  return record !== null && (outputsToDelete(record) !== null || submittedJobOf(record) !== null);
}

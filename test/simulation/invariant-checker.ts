import type { KeptOutputs } from "../../src/core/duties/copy-order.ts";
import type {
  CancelAnswer,
  ChargeAnswer,
  PollAnswer,
  PollEndedEvent,
} from "../../src/core/events/event.ts";
import type { ProgressCallback } from "../../src/core/events/progress-callback.ts";
import { rowOf } from "../../src/core/views/index-row.ts";
import { DAY, MINUTE, POLICY } from "../core/builders.ts";
import { type AttachedJob, sameJob } from "../../src/core/record/upstream.ts";
import type { Outcome } from "../../src/core/record/outcome.ts";
import { isOpen, isTerminal, type TaskRecord } from "../../src/core/record/task.ts";
import type { Decision } from "../../src/core/events/decision.ts";
import { cancelCallFault, replyAfter } from "./cancel-rules.ts";
import { eraseFault, noticeFault, indexRowFault, refundFault, sendFault } from "./call-rules.ts";
import { type Change, type PollResult, type Rules, firstViolation } from "./change.ts";
import { commitFault } from "./commit-rules.ts";
import { endResultOf, pollEndResult } from "./end-rules.ts";
import { asidePollFault, isAnswerAbout, isLateSuccess } from "./aside-polls.ts";
import { calledKeyFault } from "./customer-key-rules.ts";
import { recordEvent, statedCallback } from "./event-facts.ts";
import type { SharedState } from "./object-host.ts";
import { callFault, isOfAnotherLife, unforgottenFault } from "./submission-rules.ts";
import { orderFault } from "./copy-order-rules.ts";
import { deletedFault, hasFiles, recordCopies } from "./output-rules.ts";
import { answeredPoll, askFault, lastPollWithRead, newPoll } from "./poll-rules.ts";
import { ProgressWatch } from "./progress-rules.ts";
import { releaseFault } from "./price-rules.ts";
import { settingFor } from "./setting.ts";
import type { SimulatedObject, Subject } from "./simulated-object.ts";
import { observedEvents, summary } from "./observed-events.ts";
import type { OutsideEvent } from "./moves.ts";
import {
  type Durable,
  type EndResult,
  NO_CALLBACK,
  type StatedCallback,
  TaskHistory,
  type Violation,
  writtenBy,
} from "./task-history.ts";

/**
 * Checks every commit and every call of one object against the promises (`docs/promises.md`). The rules do
 * not use the code under test, except for the views that readers and the index see.
 */
export class InvariantChecker {
  violation: Violation | null = null;
  history: TaskHistory | null = null;
  /** Histories of earlier tasks with this id. */
  readonly pastHistories: TaskHistory[] = [];
  /** Every record that was committed, including those lost with their instance. */
  readonly records: TaskRecord[] = [];
  /** Number of notices that were sent and whose receipt was not confirmed. */
  unconfirmedNotices = 0;
  /** Number of orders to erase the task that are being applied. */
  erasures = 0;
  /** Outputs of the task whose copies were deleted last; null when none were since the last erasure. */
  deletedOutputs: KeptOutputs | null = null;
  forgottenJob: AttachedJob | null = null;
  /** Names of the events that have occurred in this run. */
  readonly observed = new Set<string>();
  /** Lines of the trace; null when there is none. */
  readonly trace: string[] | null;
  readonly #shared: SharedState;
  /** Source of the last event. */
  #lastSource = "";
  #durable: Durable = { history: null, written: null, past: 0 };
  /** Answer of the upstream after which no commit has followed yet. */
  #pollResult: PollResult | null = null;
  /** Time at which the relay's last poll was sent, in Unix milliseconds; 0 when it has sent none. */
  #askedAt = 0;
  /** End in an event that may create the task; null for none. */
  #firstEnd: EndResult | null = null;
  /** Callback in an event that may create the task. */
  #firstCallback: StatedCallback = NO_CALLBACK;
  readonly #progress = new ProgressWatch();

  constructor(shared: SharedState, isTraced: boolean) {
    this.#shared = shared;
    this.trace = isTraced ? [] : null;
  }

  note(line: () => string): void {
    this.trace?.push(line());
  }

  /** Stores a violation if it is the first, because later ones may be consequences of it. */
  report(promise: string, detail: string): void {
    this.note(() => `  BROKEN: ${promise}: ${detail}`);
    this.violation ??= { promise, detail };
  }

  /** Reports a broken rule. @param fault text of the rule; null when no rule is broken. */
  check(promise: string, fault: string | null): void {
    if (fault !== null) this.report(promise, fault);
  }

  /** Reports the first rule that does not hold. */
  require(promise: string, rules: Rules): void {
    this.check(promise, firstViolation(rules));
  }

  onCommit(before: TaskRecord | null, after: TaskRecord, instance: SimulatedObject): void {
    this.records.push(after);
    const { ledger, submitters, outside, hadFault, plannedAt } = this.#shared;
    if (before === null) this.#begin(after);
    const { history } = this;
    if (history === null) return this.report("storage", "a record without a beginning");
    const pollResult = hadFault ? null : this.#pollResult;
    this.#pollResult = null;
    const { jobs, row } = outside;
    const known = { history, ledger, submitters, jobs, instance };
    const context = { ...this.#settingOf(before), ...known };
    const causes = { hadFault, pollResult, plannedAt };
    const change: Change = { before, after, now: instance.latest, ...context, ...causes };
    // When the clock has stepped back, a later task with the same id may seem older than the row of the
    // earlier one, or as old.
    const isOfEarlier = row !== null && this.pastHistories.some(({ rows }) => rows.has(row));
    const isOutdated = isOfEarlier && row.version >= after.version;
    const newest = isOutdated && after.status !== "charging" ? rowOf(after, POLICY) : row;
    this.check("commit", commitFault(change, newest));
    for (const what of observedEvents(change, this.#lastSource)) this.observed.add(what);
    if (before === null && this.pastHistories.length > 0) this.observed.add("an id is used again");
    history.cancelReply = replyAfter(history.cancelReply, before, after);
    this.#progress.onCommit(change);
    history.written = writtenBy(history.written, change);
    this.note(() => `  commit ${summary(after)}`);
  }

  onErase(record: TaskRecord | null): void {
    const { history } = this;
    this.note(() => "  erase");
    this.#progress.onErase();
    if (record === null || history === null)
      return this.report("erasure", "only an existing task is erased");
    this.check("erasure", deletedFault(record, this.deletedOutputs));
    this.deletedOutputs = null;
    this.check("erasure", unforgottenFault(record, this.forgottenJob));
    this.forgottenJob = null;
    const isOrdered = this.erasures > 0;
    this.check("erasure", eraseFault(record, history, isOrdered, this.#shared));
    if (isTerminal(record) && !isOrdered) this.observed.add("a task expires");
    // An alarm that comes so late erases a task whose notices it has tried only once.
    const isLate = isTerminal(record) && this.#now >= record.expiresAt + DAY;
    history.isErased = isOrdered || isLate;
    if (isOpen(record)) history.written = { ...history.written, isWithdrawn: true };
    this.pastHistories.push(history);
    this.history = null;
  }

  /** Records, before the relay decides, which ends an event may cause. */
  onEvent(event: OutsideEvent, record: TaskRecord | null): void {
    const { history } = this;
    this.#lastSource = event.type;
    if (isOfAnotherLife(event, record))
      this.observed.add("an outcome comes to a later task with the same id");
    this.#pollResult = null;
    this.#firstEnd = record === null && event.type === "report" ? endResultOf(event.news) : null;
    if (record === null) this.#firstCallback = statedCallback(event);
    if (record === null || history === null) return;
    if (event.type === "copies_ended") recordCopies(history, event, record);
    recordEvent(history, event, record, { ...this.#settingOf(record), now: this.#now });
  }

  /**
   * Checks the answer to the caller of a charge that was refused, unless there is a newer task. A task that was
   * charged may be gone too by then: an operator can erase it as soon as it has ended.
   */
  onChargeEnd(chargeId: string, last: Decision | null): void {
    const isGone = this.history === null && this.pastHistories.at(-1)?.chargeId === chargeId;
    const isRefused = isGone && this.#shared.ledger.count("charge", chargeId) === 0;
    const isHeard = last?.kind === "erase" && last.record.credits?.chargeId === chargeId;
    this.require("answer", {
      "a registration is answered with the result of its charge": !isRefused || isHeard,
    });
  }

  /** Records that everything written so far is durable. */
  onFlush(): void {
    const { history } = this;
    this.#durable = { history, written: history?.written ?? null, past: this.pastHistories.length };
  }

  /** Drops everything that was written since the last flush. */
  onLoss(): void {
    const { history, written, past } = this.#durable;
    this.erasures = 0;
    this.history = history;
    this.#pollResult = null;
    if (history !== null) history.cancelReply = null;
    if (history !== null && written !== null) history.written = written;
    this.pastHistories.length = past;
  }

  onSend(delivery: Subject<"send">, caller: SimulatedObject): void {
    const { history } = this;
    const { disk, ledger } = this.#shared;
    if (history === null) return this.report("attempt", "a call belongs to a task");
    const { record } = disk.durable;
    this.check("attempt", sendFault(delivery, { record, history, ledger, caller, now: this.#now }));
    const isEnded = record !== null && isTerminal(record);
    const series = isEnded ? (record.callback?.series.number ?? 0) : 0;
    const { number, startedAt } = delivery;
    history.posts.push({ number, startedAt, series, end: null });
  }

  onSendResult(
    attempt: Pick<Subject<"send">, "number" | "startedAt">,
    outcome: Outcome,
    endedAt: number,
  ): void {
    for (const history of [this.history, ...this.pastHistories]) {
      history?.recordOutcome(attempt, outcome, endedAt);
    }
  }

  onProgress(callback: Subject<"sendProgress">, caller: SimulatedObject): void {
    const { history } = this;
    this.check("progress", this.#progress.sendFault(callback, caller, history, this.#shared));
    this.observed.add(callback.percent === null ? "a start is told" : "a percentage is told");
  }

  onProgressHeld(callback: ProgressCallback, caller: SimulatedObject): void {
    this.check("progress", this.#progress.heldFault(callback, caller, this.#shared));
  }

  onProgressAnswer(caller: SimulatedObject): void {
    this.#progress.onAnswer(caller);
    const { record } = this.#shared.disk.written;
    if (record !== null && isTerminal(record)) this.observed.add("progress arrives after the end");
  }

  /**
   * Checks, when nothing more happens, that nothing about a running job is left to tell. An answer to a cancellation of
   * another job than that of the task has been ignored by then.
   */
  onRest(living: SimulatedObject | null): void {
    this.check("progress", this.#progress.restFault(living, this.#shared.hadFault));
    const job = this.#shared.disk.written.record?.upstream?.job ?? null;
    const reply = this.history?.cancelReply ?? null;
    if (this.history === null || reply === null || sameJob(job, reply.job)) return;
    this.history.cancelReply = null;
  }

  onCharge({ chargeId }: Subject<"charge">): void {
    const { record } = this.#shared.disk.durable;
    const credits = record?.status === "charging" ? record.credits : null;
    this.require("charge", {
      "the intent is durable before the call": credits?.chargeId === chargeId,
      "a charge is not repeated before its time": this.#now >= (credits?.state.retryAt ?? 0),
      "each task of an id is charged under its own reference": this.history?.chargeId === chargeId,
    });
  }

  onChargeAnswer({ amount }: Subject<"charge">, answer: ChargeAnswer): void {
    if (answer.kind !== "insufficient") return;
    const { balance, month } = answer;
    const spent = this.#shared.ledger.spentIn(this.#now);
    this.require("charge", {
      "a sufficient balance can be spent": month !== undefined || balance < amount,
      "what a month has left can be spent": month === undefined || spent + amount > month.limit,
    });
    if (month !== undefined) this.observed.add("a charge is above the monthly limit");
  }

  onRefund(refund: Subject<"refund">): void {
    this.check("refund", refundFault(refund, this.#shared.disk.durable.record, this.history));
  }

  onRelease(release: Subject<"release">, withinMs: number): void {
    this.check("release", releaseFault(release, withinMs, this.history, this.#shared));
    this.observed.add("a release is ordered");
  }

  onSubmit(submissionId: string): void {
    const histories = [this.history, ...this.pastHistories];
    const history = histories.find((one) => one?.submissionId === submissionId) ?? null;
    const { ledger, disk } = this.#shared;
    const isStored = disk.durable.record?.submission?.id === submissionId;
    const isPast = history !== null && history !== this.history;
    this.require("submission", {
      "the submission is durable before its call": isStored || isPast,
    });
    this.check("submission", callFault(history, ledger, disk.durable.record));
    if (history !== null) history.calls++;
  }

  onFilesDeleted(submissionId: string): void {
    const { record } = this.#shared.disk.written;
    const isOwn = record?.submission?.id === submissionId;
    this.require("copies", {
      "files of an answer that are outputs of a task stay": !isOwn || !hasFiles(record),
    });
  }

  onPoll(poll: Subject<"poll">, caller: SimulatedObject, withinMs: number): void {
    const fault =
      poll.purpose === "result"
        ? askFault(poll, caller, this.#shared)
        : asidePollFault(poll, withinMs, caller, this.#shared);
    this.check("poll", fault ?? calledKeyFault(poll, this.#shared.disk.durable.record));
    if (poll.customerKey !== null) this.observed.add(`a customer's key is used: ${poll.purpose}`);
    caller.polls++;
    caller.lastPoll = newPoll(poll.job, this.#now);
    this.#askedAt = this.#now;
    if (this.history !== null) this.history.polledAt = this.#now;
  }

  onHookReport(): void {
    const { record } = this.#shared.disk.written;
    this.require("connection", {
      "a job of a customer's key tells its connection nothing about hooks":
        (record?.submission?.customerKey ?? null) === null,
    });
  }

  onPollAnswer(poll: Subject<"poll">, answer: PollAnswer, caller: SimulatedObject): void {
    const { record } = this.#shared.disk.written;
    const { history } = this;
    const fact = pollEndResult(answer);
    this.#lastSource = "poll";
    caller.lastPoll = answeredPoll(caller.lastPoll, answer, this.#now);
    if (record === null || history === null) return;
    notePercentage(history, answer);
    history.isLateProven ||= isTerminal(record) && isLateSuccess(poll, answer);
    if (poll.purpose === "kept_job") {
      history.keptAnswer = answer;
      history.isJobShown ||= answer.kind === "news";
    }
    const isDeferred = answer.kind === "deferred";
    if (isDeferred && history.polledAt === this.#askedAt) history.polledAt = 0;
    if (!isAnswerAbout(record, poll, answer)) return;
    const askedAt = isDeferred ? 0 : this.#askedAt;
    this.#pollResult = { answer, askedAt, isOfRead: false };
    if (fact !== null) history.possibleEnds.push(fact);
  }

  /** Takes note of the answer to a client's read of a job, which counts as an answer to a poll. */
  onReadAnswer(
    { job, askedAt }: Pick<PollEndedEvent, "job" | "askedAt">,
    answer: PollAnswer,
    caller: SimulatedObject,
  ): void {
    const { record } = this.#shared.disk.written;
    this.#lastSource = "read of a job";
    this.#pollResult = null;
    if (record === null || this.history === null) return;
    notePercentage(this.history, answer);
    if (!sameJob(record.upstream?.job ?? null, job)) return;
    if (!isOpen(record)) return;
    caller.lastPoll = lastPollWithRead(caller.lastPoll, { job, askedAt }, answer, this.#now);
    caller.readAt = Math.max(caller.readAt, askedAt);
    this.history.polledAt = Math.max(this.history.polledAt, askedAt);
    this.#pollResult = { answer, askedAt, isOfRead: true };
    const fact = pollEndResult(answer);
    if (fact !== null) this.history.possibleEnds.push(fact);
  }

  /** Forgets the answer to a client's read, which the task has applied at once: later commits have other causes. */
  onReadApplied(): void {
    this.#pollResult = null;
  }

  onCancel(cancel: Subject<"cancelJob">, caller: SimulatedObject): void {
    const fault = cancelCallFault(cancel, caller, this.#shared);
    this.check("cancellation", fault ?? calledKeyFault(cancel, this.#shared.disk.durable.record));
    if (cancel.customerKey !== null) this.observed.add("a job of a customer's key is canceled");
    this.#pollResult = null;
    if (cancel.isRepeat) this.observed.add("a call that cancels a job is repeated");
  }

  onCancelAnswer(
    { job }: Subject<"cancelJob">,
    answer: CancelAnswer,
    caller: SimulatedObject,
  ): void {
    const { record } = this.#shared.disk.written;
    const { history } = this;
    this.#lastSource = "cancellation";
    if (record === null || history === null) return;
    const isAttached = sameJob(record.upstream?.job ?? null, job);
    const asked = isAttached ? record.cancellation : null;
    history.cancelReply = { job, answer, asked, caller };
  }

  onIndexRow(row: Subject<"writeIndexRow">, withinMs: number, caller: SimulatedObject): void {
    const alarmedAt = this.history?.alarmedAt ?? 0;
    this.check("index", indexRowFault(row, withinMs, caller, alarmedAt, this.#shared));
    if (row.lostOutputs > 0) this.observed.add("the row of a task with a lost output is written");
    this.#pollResult = null;
    if (this.history === null) return;
    this.history.triedVersion = row.version;
    this.history.rows.add(row);
  }

  /** Checks that no third instance repeats a write: the one that repeats it stores that it has succeeded. */
  onAlarmEnd(alarmAt: number, { rowVersion }: SimulatedObject): void {
    const { record } = this.#shared.disk.written;
    if (record === null || record.version !== rowVersion || this.#shared.hadFault) return;
    // The write of an ordered row is no repetition, however long after the change it comes.
    if (this.history?.isRowOrdered === true) return;
    const { indexRow, version } = record;
    const isRepeat = alarmAt > Math.max(version, indexRow.outdatedAt ?? 0) + MINUTE;
    const isStored = indexRow.version === version;
    this.require("index", { "a repeated write that succeeds is stored": !isRepeat || isStored });
  }

  onCopyOrder(order: Subject<"orderCopies">, withinMs: number | null): void {
    this.check("copies", orderFault(order, withinMs, this.#shared));
    this.observed.add(withinMs === null ? "copies are ordered" : "copies are ordered again");
  }

  onCopyOrderAnswer({ recordedAt, deleted }: Subject<"orderCopies">, isTaken: boolean): void {
    const isOfThisLife = this.#shared.disk.written.record?.recordedAt === recordedAt;
    if (this.history === null || !isOfThisLife || !isTaken) return;
    this.history.isCopyOrderTaken = true;
    for (const number of deleted) this.history.confirmedDeletions.add(number);
    if (deleted.length > 0) this.observed.add("copies of deleted outputs are deleted");
  }

  onNotice(notice: Subject<"sendNotice">, withinMs: number): void {
    this.check("notice", noticeFault(notice, withinMs, this.#shared));
    this.#pollResult = null;
    this.unconfirmedNotices++;
  }

  onNoticeTaken({ kind, version }: Subject<"sendNotice">): void {
    const histories = [this.history, ...this.pastHistories];
    const isTrue = histories.some((history) => history?.written.failures.has(version) === true);
    this.require("notice", {
      "a notice is about a failed series": kind !== "callback.failed" || isTrue,
    });
    for (const history of histories) history?.noticedVersions.add(version);
  }

  onNoticeAnswer(isTaken: boolean): void {
    if (isTaken) this.unconfirmedNotices--;
  }

  #begin(record: TaskRecord): void {
    const chargeId = record.credits?.chargeId ?? null;
    const isNew =
      chargeId === null || this.pastHistories.every((history) => history.chargeId !== chargeId);
    this.require("charge", { "each task of an id is charged under its own reference": isNew });
    this.deletedOutputs = null;
    this.forgottenJob = null;
    this.history = new TaskHistory(record, this.#firstCallback);
    if (this.#firstEnd !== null) this.history.possibleEnds.push(this.#firstEnd);
  }

  /** Returns the configuration as it is for a task; for none, that of a new one. */
  #settingOf(record: TaskRecord | null) {
    return { setting: settingFor(record, this.#shared.setting) };
  }

  get #now(): number {
    return this.#shared.now;
  }
}

function notePercentage({ percentages }: TaskHistory, answer: PollAnswer): void {
  if (answer.kind === "news" && answer.progress !== undefined) percentages.add(answer.progress);
}

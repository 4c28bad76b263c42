import type { Cancel } from "../../src/core/duties/cancel-job.ts";
import type { CancelAnswer } from "../../src/core/events/event.ts";
import type { Cancellation } from "../../src/core/record/cancellation.ts";
import { isOpen, isTerminal, type OpenTask, type TaskRecord } from "../../src/core/record/task.ts";
import { type Job, sameJob } from "../../src/core/record/upstream.ts";
import { CONNECTION, SECOND } from "../core/builders.ts";
import { type Answered, answeredState, type Asking, askingState } from "./cancel-times.ts";
import { type Change, firstViolation, isEqual } from "./change.ts";
import type { OutsideEvent } from "./moves.ts";
import type { SharedState } from "./object-host.ts";
import { endTime } from "./poll-times.ts";
import type { Setting } from "./setting.ts";
import type { SimulatedObject } from "./simulated-object.ts";
import type { TaskHistory } from "./task-history.ts";

const MOST_CALLS = 3;
const FIRST_WAIT_MS = 5 * SECOND;
const AT_DEADLINE_MS = 30 * SECOND;

/** The upstream's answer to a call that cancels a job. */
export interface CancelReply {
  readonly job: Job;
  readonly answer: CancelAnswer;
  /**
   * Cancellation for which the call was made. Null when another job was attached when the answer came: the relay ignores
   * the answer, unless the job of the answer is attached before it looks at it.
   */
  readonly asked: Cancellation | null;
  /** Instance that has got the answer. */
  readonly caller: SimulatedObject;
}

/** One commit of an open task that changes its cancellation. */
interface Step extends Change {
  readonly before: OpenTask;
  readonly after: OpenTask;
}

/** Tells whether the relay can ask the upstream to cancel the job of a task. */
function canCancel({ upstream }: TaskRecord, setting: Setting): boolean {
  const { isCancelable, limits } = setting;
  return (
    isCancelable && limits !== null && upstream?.connection === CONNECTION && upstream.job !== null
  );
}

/** Returns what an order asks for: that the task fails at once, or that the upstream is asked; null for neither. */
export function orderOf(
  event: OutsideEvent,
  task: OpenTask,
  setting: Setting,
): "fail" | "ask" | null {
  if (task.submission?.state.kind === "sending") return null;
  if (task.submission?.state.kind === "queued") return orderOfQueued(event, task);
  const isAskable = canCancel(task, setting);
  if (event.type === "cancel_submitted") {
    return isAskable && task.submission?.isByOwner === true ? "ask" : null;
  }
  if (event.type !== "cancel") return null;
  return isAskable && !event.isForced ? "ask" : "fail";
}

/** Returns what an order asks for while the call of a task waits to be sent: that the task fails; null for nothing. */
function orderOfQueued(event: OutsideEvent, { submission }: OpenTask): "fail" | null {
  const isOwn = event.type === "cancel_submitted" && submission?.isByOwner === true;
  return isOwn || event.type === "cancel" ? "fail" : null;
}

/** Checks a call that cancels a job and is about to be sent. */
export function cancelCallFault(
  { job, connection, isRepeat }: Cancel,
  caller: SimulatedObject,
  { disk, outside, now }: SharedState,
): string | null {
  const { record } = disk.durable;
  if (record === null || !isOpen(record)) return "no job is canceled after the end of its task";
  const { upstream, cancellation } = record;
  const asking = askingState(cancellation);
  if (asking === null) return "a job is canceled only while a durable order is open";
  return firstViolation({
    "only the attached job is canceled":
      sameJob(upstream?.job ?? null, job) && upstream?.connection === connection,
    "a call that cancels a job is not made before its time": now >= asking.retryAt,
    "at most three calls ask for one cancellation": asking.tries < MOST_CALLS,
    "no call asks for a cancellation when the time at the deadline is over":
      asking.retryAt < (cancellation?.endsAt ?? Infinity),
    "a call that follows one without an answer says so": isRepeat === asking.tries > 0,
    "a job is not canceled while it is polled or while another call cancels it": outside
      .of(caller)
      .every(({ what }) => what !== "poll" && what !== "cancelJob"),
  });
}

/**
 * Returns the known answer after a commit; null when the commit begins to ask anew or attaches another job than that of
 * the answer, so that the answer is not about it. A deadline that gives an open order an end does not begin it anew.
 */
export function replyAfter(
  known: CancelReply | null,
  before: TaskRecord | null,
  { cancellation, upstream }: TaskRecord,
): CancelReply | null {
  if (askingState(cancellation)?.tries !== 0) return known;
  const job = upstream?.job ?? null;
  if (!isEqual(before?.upstream?.job ?? null, job)) {
    return known !== null && sameJob(job, known.job) ? known : null;
  }
  const from = before?.cancellation ?? null;
  const isSame =
    from !== null && isEqual({ ...from, endsAt: null }, { ...cancellation, endsAt: null });
  return isSame ? known : null;
}

/** Checks that the instance which has got an answer has stored it. */
export function cancelRestFault(
  { disk, hadFault }: SharedState,
  living: SimulatedObject | null,
  history: TaskHistory | null,
): string | null {
  const { record } = disk.durable;
  const reply = history?.cancelReply ?? null;
  if (record === null || reply === null || reply.caller !== living || hadFault) return null;
  if (reply.asked === null || !isOpen(record) || !sameJob(record.upstream?.job ?? null, reply.job))
    return null;
  return firstViolation({
    "a confirmed cancellation ends the task": reply.answer.kind !== "canceled",
    "the answer to a cancellation is stored": !isEqual(record.cancellation, reply.asked),
  });
}

/** Returns the rule about cancellations that a commit breaks; null when it breaks none. */
export function cancellationFault(change: Change): string | null {
  const { before, after } = change;
  const from = before?.cancellation ?? null;
  const to = after.cancellation;
  if (before === null || !isOpen(before)) {
    return firstViolation({ "only an open task is canceled": isEqual(from, to) });
  }
  if (isTerminal(after)) return endFault(from, to);
  if (!isOpen(after)) return null;
  const step: Step = { ...change, before, after };
  const isOtherJob = !isEqual(before.upstream?.job, after.upstream?.job);
  if (isOtherJob && before.upstream?.job != null) return otherJobFault(step, from, to);
  if (isEqual(from, to)) return null;
  if (to === null) return "a cancellation is forgotten only with its job";
  return startFault(step, from, to) && deadlineFault(step, from, to) && answerFault(step, from, to);
}

/** Checks that the end of a task changes nothing but the state of its cancellation. */
function endFault(from: Cancellation | null, to: Cancellation | null): string | null {
  const kind = to?.state.kind;
  const isSame = isEqual(from, to);
  const isConfirmed = kind === "confirmed" && from !== null;
  const isUnsent = kind === "not_sent" && from === null;
  const isKept = isConfirmed && isEqual({ ...from, state: null }, { ...to, state: null });
  return firstViolation({
    "the end of a task keeps its cancellation": isSame || isKept || isUnsent,
  });
}

/** Checks that another job is canceled in place of the former one, but only while the order is open. */
function otherJobFault({ now }: Step, from: Cancellation | null, to: Cancellation | null) {
  const state = { kind: "asking", retryAt: now, tries: 0 };
  const expected = askingState(from) === null ? null : { ...from, state };
  return firstViolation({
    "another job is canceled in place of the former one while an order is open": isEqual(
      to,
      expected,
    ),
  });
}

/** Checks the beginning of a cancellation by an order. */
function startFault({ history, now }: Step, from: Cancellation | null, to: Cancellation) {
  const state = { kind: "asking", retryAt: now, tries: 0 };
  const started = { reason: "order", requestedAt: now, endsAt: null, state };
  const isFree = from === null || (askingState(from) === null && from.endsAt === null);
  return firstViolation({
    "a cancellation begins with an order": history.isAskOrdered && isFree && isEqual(to, started),
  });
}

/** Checks the beginning of a cancellation at the deadline, after the last poll and its one extension. */
function deadlineFault(step: Step, from: Cancellation | null, to: Cancellation): string | null {
  const { before, after, now, setting, pollResult, hadFault } = step;
  const state = { kind: "asking", retryAt: now, tries: 0 };
  const endsAt = now + AT_DEADLINE_MS;
  const isPending = from?.state.kind === "asking" || from?.state.kind === "accepted";
  const begun = isPending
    ? { ...from, endsAt }
    : { reason: "deadline", requestedAt: now, endsAt, state };
  const answer = pollResult?.answer ?? null;
  const isAtWork = answer?.kind === "news" || answer?.kind === "limited";
  const endAt = endTime(before);
  return firstViolation({
    "a cancellation at the deadline lasts 30 s": isEqual(to, begun) && from?.endsAt == null,
    "a cancellation at the deadline follows the last poll":
      now >= endAt && (hadFault || (pollResult !== null && pollResult.askedAt >= endAt)),
    "a cancellation at the deadline follows the one extension":
      before.tracking.isExtended || !isAtWork,
    "a cancellation at the deadline needs a job that can be canceled, and no pause":
      // During a pause a client's read may be the last poll.
      canCancel(after, setting) && (!setting.isPaused || hadFault || pollResult?.isOfRead === true),
  });
}

/** Checks the change of a cancellation after an answer of the upstream, or after none. */
function answerFault(step: Step, from: Cancellation | null, to: Cancellation): string | null {
  const { before, after, history, instance, now, hadFault } = step;
  const asked = askingState(from);
  if (from === null || asked === null) return "an answer follows a call that cancels a job";
  const { answer = null } = history.cancelReply ?? {};
  const isSame = isEqual({ ...from, state: 0, endsAt: 0 }, { ...to, state: 0, endsAt: 0 });
  const asking = askingState(to);
  if (asking !== null) {
    return firstViolation({
      "a call without an answer is repeated after 5 s, then after 10 s":
        asking.tries === asked.tries + 1 &&
        asking.retryAt === now + FIRST_WAIT_MS * 2 ** asked.tries,
      "at most three calls ask for one cancellation": asking.tries < MOST_CALLS,
      "only a call without an answer is repeated": hadFault || answer?.kind === "unanswered",
      "a repeated call leaves the order, and is not shown":
        isSame && from.endsAt === to.endsAt && before.version === after.version,
    });
  }
  const state = answeredState(to);
  const isOver = state?.kind === "refused" || state?.kind === "unknown";
  const endsAt = from.endsAt !== null && isOver ? Math.min(from.endsAt, now) : from.endsAt;
  return firstViolation({
    "the state of a cancellation is what the upstream has answered":
      hadFault || state?.kind === stateAfter(answer, asked),
    "the status of the answer is stored": hadFault || state?.statusCode === answer?.statusCode,
    "the job is polled from the answer on, and after any earlier poll of the instance":
      (state?.answeredAt === now || state?.answeredAt === now + 1) &&
      // The clock may have been put back since a client's read was sent.
      state.answeredAt > Math.min(instance.lastPoll?.at ?? -Infinity, now),
    "only a refusal or an unknown outcome ends the time at the deadline": to.endsAt === endsAt,
    "an answer leaves the order": isSame,
  });
}

/** Returns the state after an answer; null when the call is to be repeated, or when the task must have ended. */
function stateAfter(answer: CancelAnswer | null, { tries }: Asking): Answered["kind"] | null {
  switch (answer?.kind) {
    case "accepted":
    case "ended":
    case "refused":
      return answer.kind;
    case "unclear":
      return "unknown";
    case "unanswered":
      return tries === MOST_CALLS - 1 ? "unknown" : null;
    case "canceled":
    case undefined:
      return null;
  }
}

/** Tells whether a task has ended because the upstream has confirmed its cancellation, which is true. */
export function isConfirmedEnd({ before, after, jobs }: Change): boolean {
  const job = before?.upstream?.job ?? null;
  const isSaid = after.cancellation?.state.kind === "confirmed";
  return isSaid && before?.cancellation != null && job !== null && jobs.isCanceled(job);
}

/** Tells whether the last poll found that the job was canceled, although an order for that was open. */
export function isFoundCanceled({ before, pollResult }: Change): boolean {
  const news = pollResult?.answer.kind === "news" ? pollResult.answer.news : null;
  const isCanceled = news?.status === "failed" && news.failure.category === "canceled";
  return isCanceled && before?.cancellation != null;
}

/** Tells whether the job of a task that times out should have been canceled before. */
export function isCancelMissing({ before, pollResult, setting }: Change): boolean {
  if (before === null || !isOpen(before) || pollResult === null || setting.isPaused) return false;
  const isLast = pollResult.askedAt >= endTime(before) && pollResult.answer.kind !== "deferred";
  const isTried = before.cancellation !== null && before.cancellation.endsAt !== null;
  return isLast && !isTried && canCancel(before, setting);
}

import type { Task } from "../../api/shapes/task-shape.ts";
import { SECOND_MS } from "../../core/time.ts";
import type { CallbackFacts, TaskFacts } from "../../core/views/task-facts.ts";
import type { Tone } from "../parts/chip.tsx";
import { countText, durationText } from "../parts/format.ts";

/** Next step of a task as its page shows it, e.g. a poll or a callback attempt; at the end, how the task has ended. */
interface NextStep {
  readonly tone: Tone;
  /** What has begun already, and when, in Unix milliseconds. Absent when it is of no interest. */
  readonly since?: { readonly text: string; readonly at: number };
  readonly text: string;
  /** Time to which the page counts down, in Unix milliseconds; null when nothing is planned. */
  readonly at: number | null;
  /** Seconds after which the page refreshes itself. It also refreshes when it comes into view again. */
  readonly refreshS: number;
}

/** The position of a submission in a queue, and why it waits there. */
type Submission = Partial<Pick<NonNullable<Task["submission"]>, "position" | "cause">>;

/** Seconds between two refreshes of the page of a task that no longer changes by itself. */
const SETTLED_S = 3_600;
const LONGEST_S = 300;
/**
 * Pause in seconds between two refreshes of an open task's page. It can be short, because the relay answers a refresh
 * only when the task changes.
 */
const OPEN_S = 1;
const OVERDUE_MS = 1_000;

/** Returns what a task does next, when, and why it waits. The page counts down to this time until it has passed. */
export function nextStepOf(task: Task, facts: TaskFacts, now: number): NextStep {
  if (!isEnded(task))
    return (
      waitForJob(facts, task.submission, now) ?? waitForCancel(task) ?? waitForUpstream(task, now)
    );
  const refund = refundStep(task, now);
  if (refund !== null) return refund;
  return callbackStep(task, facts, now) ?? releaseStep(task, now) ?? lastStep(task, facts);
}

/** Returns the callback attempt that is running or planned; null when there is none. */
function callbackStep(task: Task, facts: TaskFacts, now: number): NextStep | null {
  const { callback } = facts;
  if (callback === null) return null;
  const running = callback.attempts.find(({ durationMs }) => durationMs === null);
  if (running !== undefined) {
    const text = `Attempt ${running.number} runs for ${durationText(now - running.startedAt)}.`;
    return { tone: "busy", text, at: null, refreshS: 1 };
  }
  const { nextAttemptAt, pausedUntil } = callback;
  if (pausedUntil !== null) {
    const text = `The next, ${attemptText(callback)}, waits because its host is paused. The pause ends`;
    return { tone: "warn", text, at: pausedUntil, refreshS: 15 };
  }
  return nextAttemptAt === null ? null : planned(task, callback, nextAttemptAt, now);
}

/** Returns the words for the next attempt of a callback, e.g. "attempt 2 of 3". */
function attemptText({ series: { started, total, number } }: CallbackFacts): string {
  const attempt = `attempt ${started + 1} of ${total}`;
  return number === 1 ? attempt : `${attempt} of redelivery ${number - 1}`;
}

/** Returns the state of a task for which nothing is left to do, and how its callback has ended. */
function lastStep(task: Task, { callback }: TaskFacts): NextStep {
  if (callback === null) return settled("idle", "This task has no callback URL.");
  const count = callback.attempts.length;
  if (task.callback?.status === "delivered") {
    return task.status === "failed"
      ? settled("idle", "The failure was delivered. Nothing is left to do.")
      : settled("ok", "Delivered. Nothing is left to do.");
  }
  return settled("bad", `No further attempt is planned after ${countOf(count)}.`);
}

function planned(
  { callback: shown }: Task,
  callback: CallbackFacts,
  at: number,
  now: number,
): NextStep {
  const what = attemptText(callback);
  const lateMs = now - at;
  if (shown?.paused === true) {
    const since = lateMs > 0 ? `was due ${durationText(lateMs)} ago and` : "";
    return {
      tone: "warn",
      text: `The next, ${what}, ${since} waits because callbacks are paused (PAUSED).`,
      at: null,
      refreshS: 15,
    };
  }
  if (lateMs > OVERDUE_MS) {
    const text = `Overdue by ${durationText(lateMs)} because the alarm of this task has not fired yet: ${what}. A few seconds are usual when the platform moves objects.`;
    return { tone: "warn", text, at: null, refreshS: 1 };
  }
  if (lateMs >= 0) return { tone: "busy", text: `Starts now: ${what}.`, at: null, refreshS: 1 };
  return { tone: "busy", text: `Next: ${what}`, at, refreshS: untilS(at, now) };
}

/**
 * Returns what a task waits for while its call waits to be sent, or while it is unknown whether its submission has started
 * a job; null otherwise.
 * @param queued the submission with its position in a queue, if it has one.
 */
function waitForJob(
  { submission, createdAt }: TaskFacts,
  queued: Task["submission"],
  now: number,
): NextStep | null {
  if (submission === null || submission.waitsUntil === null) return null;
  const { state, sentAt, waitsFor, waitsUntil: at } = submission;
  if (state === "queued") {
    const since = { text: "The call came", at: createdAt };
    const text = `It ${queuedText(queued)}. Fails without having been sent`;
    return { tone: "busy", since, text, at, refreshS: OPEN_S };
  }
  const isSending = state === "sending";
  const tone = isSending ? "busy" : "warn";
  if (at <= now) {
    const text = isSending
      ? "The upstream has not answered the submission in time: its outcome counts as unknown now."
      : "The job has not become known in time: the task fails now.";
    return { tone, text, at: null, refreshS: 2 };
  }
  const text = isSending
    ? "Waits for the upstream's answer. Without one the outcome of the submission is unknown"
    : waitsFor === "job"
      ? "It is not known whether the upstream has started the job. Waits for the upstream's answer about a job that is known, or an order that names it. Fails without one"
      : "It is not known whether the upstream has started the job. Waits for a hook or an order that names it. Fails without one";
  const since = isSending && sentAt !== null ? { text: "The call was sent", at: sentAt } : null;
  return { tone, ...(since && { since }), text, at, refreshS: OPEN_S };
}

/** Returns why a call that is not sent yet waits, and where in the queue. */
export function queuedText({ position, cause }: Submission = {}): string {
  if (position === undefined) return "waits to be sent";
  const where = position === 1 ? "as the next" : `at position ${countText(position)}`;
  const why = cause === "upstream_refused" ? "the upstream has refused calls" : "no place is free";
  return `waits because ${why}, ${where} of the queue`;
}

/** Returns what a task waits for while its job is being canceled; null when no cancellation is under way. */
function waitForCancel({ cancel }: Task): NextStep | null {
  if (cancel?.state !== "asked") return null;
  const { reason } = cancel;
  const what =
    reason === "order"
      ? "Waits for the upstream to cancel the job."
      : "The deadline has passed: waits at most 30 s for the upstream to cancel the job, then fails.";
  return {
    tone: "warn",
    text: `${what} A result that comes first counts.`,
    at: null,
    refreshS: OPEN_S,
  };
}

function waitForUpstream(
  { deadline_at: deadlineAt = 0, tracking = {} }: Task,
  now: number,
): NextStep {
  const { next_poll_at: nextPollAt, paused } = tracking;
  if (paused === true) {
    return {
      tone: "warn",
      text: "Waits for the result; polls are paused (PAUSED).",
      at: null,
      refreshS: 15,
    };
  }
  if (nextPollAt !== undefined) {
    const at = nextPollAt * SECOND_MS;
    if (at <= now) return { tone: "busy", text: "Asks the upstream now.", at: null, refreshS: 2 };
    const text = "Waits for the result. Asks the upstream next";
    return { tone: "busy", text, at, refreshS: Math.min(OPEN_S, untilS(at, now)) };
  }
  const at = deadlineAt * SECOND_MS;
  if (at > now)
    return { tone: "busy", text: "Waits for the result. Fails without one", at, refreshS: OPEN_S };
  return {
    tone: "warn",
    text: "The deadline has passed: the task fails now.",
    at: null,
    refreshS: 2,
  };
}

function refundStep({ credits, callback }: Task, now: number): NextStep | null {
  if (credits?.state !== "refunding") return null;
  const { amount, retry_at: retryAt, tries } = credits;
  const what = callback === null ? "The task" : "The callback";
  const nth = tries === undefined ? "" : `, try ${tries + 1}`;
  const text = `${what} waits for the refund of ${amount} credits${nth}`;
  const at = retryAt === undefined || retryAt * SECOND_MS <= now ? null : retryAt * SECOND_MS;
  return { tone: "warn", text, at, refreshS: at === null ? 2 : untilS(at, now) };
}

function releaseStep({ credits }: Task, now: number): NextStep | null {
  if (credits?.state !== "releasing") return null;
  const { amount, final = amount, retry_at: retryAt, tries } = credits;
  const nth = tries === undefined ? "" : `, try ${tries + 1}`;
  const text = `Gives back ${amount - final} of ${amount} credits${nth}`;
  const at = retryAt === undefined || retryAt * SECOND_MS <= now ? null : retryAt * SECOND_MS;
  return { tone: "busy", text, at, refreshS: at === null ? 2 : untilS(at, now) };
}

function isEnded({ status }: Task): boolean {
  return status === "completed" || status === "failed";
}

/**
 * Returns the number of seconds until one second before the time `at`, at least one and at most five minutes, so that a
 * refresh is already waiting at that time.
 */
function untilS(at: number, now: number): number {
  return Math.min(LONGEST_S, Math.max(1, Math.floor((at - now) / SECOND_MS) - 1));
}

function settled(tone: Tone, text: string): NextStep {
  return { tone, text, at: null, refreshS: SETTLED_S };
}

function countOf(count: number): string {
  return count === 1 ? "1 attempt" : `${count} attempts`;
}

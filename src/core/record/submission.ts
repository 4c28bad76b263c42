import { backoff } from "../backoff.ts";
import type { Policy } from "../policy.ts";
import { MINUTE_MS, SECOND_MS } from "../time.ts";
import type { CustomerKey, SealedKey } from "./customer-key.ts";
import type { FailedJob } from "./failed-job.ts";
import {
  MAX_REFUSED_ATTEMPTS,
  type QueueStay,
  type RefusedAttempt,
  startStay,
} from "./queue-stay.ts";
import type { RefusalClass } from "./refusal.ts";

/**
 * Time in milliseconds for which the outcome of a submission stays open after the upstream's time for its answer is
 * over; then it counts as unknown. The Worker that has sent the call needs this time to pass the answer on.
 */
const ANSWER_MARGIN_MS = 10 * SECOND_MS;
/**
 * Time in milliseconds that a Worker has after a refused attempt to find a place at another connection and to begin the
 * next attempt: it tells the queue of the refused one, asks the others, and orders the start.
 */
const NEXT_ATTEMPT_MS = 30 * SECOND_MS;
/**
 * Time in milliseconds that the object which makes a call has for storing files and reporting the outcome, after the
 * upstream's time for its answer is over.
 */
const CALL_MARGIN_MS = MINUTE_MS;
/**
 * Time in milliseconds that is added to the upstream's time for an answer that is passed on, because it arrives only as
 * fast as its caller reads it.
 */
const PASSING_MS = 2 * MINUTE_MS;
const FIRST_WAIT_MS = 5 * SECOND_MS;
const MAX_WAIT_MS = 5 * MINUTE_MS;

/** The submission of a task: the one call with which the relay starts the task's job. Times are Unix milliseconds. */
export interface Submission {
  /**
   * Random id of the submission. It distinguishes the answers and hooks of this submission from those of an earlier
   * task with the same id.
   */
  readonly id: string;
  /**
   * Time from which the call may be sent: the creation of the task or, if the task has a price, the end of its charge.
   * For a call that had to wait (`queued`), it is the time at which the wait has ended.
   */
  readonly startedAt: number;
  /**
   * SHA-256 of the path, query and body of the call, and of the customer's key if the call has one. A repetition of the
   * call under the same `Idempotency-Key` or id is recognised by it.
   */
  readonly requestDigest: string;
  /** Endpoint of the job (see `Job`), as the path of the call contains it. Null when polls need no endpoint. */
  readonly endpoint: string | null;
  /** True when the account of the task has submitted the job itself, with a key of its own. */
  readonly isByOwner: boolean;
  readonly state: SubmissionState;
  /**
   * Answer of the upstream to the submission. A client that repeats its call gets this answer. Null until the answer is
   * known. A large answer is removed when the task is settled (`isLastingAnswer`); the value is then null again.
   */
  readonly answer: SubmissionAnswer | null;
  /** Key of the customer with which the job is submitted and polled. Null when the key of the connection is used. */
  readonly customerKey: CustomerKey | null;
  /**
   * Digests of the links in the call, at most 64 (`input-links.ts`). By them a link that the upstream repeats among the
   * outputs is recognised as input. Absent when the call has no links, or was not searched for links.
   */
  readonly inputLinks?: readonly string[];
  /**
   * True when the upstream can send no hook about the job: the call has no hook URL of the relay, or the upstream
   * cannot reach this URL. Absent when a hook can come.
   */
  readonly isHookless?: true;
  /**
   * True when the caller does not wait for the upstream's answer: the caller got the task at once, and an object made for
   * the call (objects/call) sends it. Absent when the Worker that got the call sends it.
   */
  readonly isCall?: true;
  /**
   * True when the caller waits for the answer, and the object made for the call sends it and passes the answer on.
   * Absent when this is not so.
   */
  readonly isPassedOn?: true;
  /**
   * Stay of the submission in the queues of its connections. Absent when the jobs of its connection are not limited, and
   * when all queues have confirmed that the submission has left them.
   */
  readonly stay?: QueueStay;
  /** Offer by which an account has submitted the job. Absent for a submission of an operator. */
  readonly offer?: PricingOffer;
  /** The latest attempts that the upstream has refused, oldest first. Absent when there was none. */
  readonly refusedAttempts?: readonly RefusedAttempt[];
  /**
   * Members of a pool to which the call may still be submitted if its job fails (events/submit-again.ts): the object of
   * the call keeps it for them. Absent when there is none.
   */
  readonly further?: readonly string[];
  /** Jobs that have failed, after each of which the call was kept for another member. Oldest first. Absent for none. */
  readonly failedJobs?: readonly FailedJob[];
}

/** The offer whose price a task has. */
export interface PricingOffer {
  readonly name: string;
  /** Number of the version of the offer. Null for an offer of the variable `OFFERS`. */
  readonly version: number | null;
}

export type SubmissionState =
  /** State of a call that waits to be sent. At `failsAt` the task fails, and the call will never be sent. */
  | { readonly kind: "queued"; readonly failsAt: number }
  /** State while the upstream has not answered the submission yet. From `endsAt` on, the outcome counts as unknown. */
  | { readonly kind: "sending"; readonly endsAt: number }
  /** State of a call that was not sent and will never be sent. The price of the task is given back. */
  | { readonly kind: "unsent" }
  | UnknownOutcome
  /**
   * State of a submission whose job is known. `answeredAt` and `statusCode` describe the upstream's answer to the call.
   * They are null when the job is known in another way: from a hook, a report or a request to attach it.
   */
  | {
      readonly kind: "accepted";
      readonly answeredAt: number | null;
      readonly statusCode: number | null;
    };

/**
 * State of a submission of which it is not known whether the upstream has accepted it, or which the upstream has refused
 * although its caller knows of the task (`refusal`).
 */
export interface UnknownOutcome {
  readonly kind: "unknown";
  /** Time of the upstream's answer, which stated neither a job nor a refusal. Null when there was no answer. */
  readonly answeredAt: number | null;
  readonly statusCode: number | null;
  /** Time at which the task fails unless its job has become known. */
  readonly failsAt: number;
  /** Time of the next poll of the job that a hook has named. Null when no such poll is planned. */
  readonly askAt: number | null;
  /** Number of polls of the job that a hook has named, counted since the latest hook. */
  readonly tries: number;
  /**
   * Class of the answer with which the upstream has refused the submission after all. Absent while there is no such
   * answer.
   */
  readonly refusal?: RefusalClass;
}

/** The upstream's answer to a submission, in the form in which a repeated submission gets it. */
export interface SubmissionAnswer {
  readonly status: number;
  readonly contentType: string | null;
  readonly body: string;
}

/** Fields of a submission that are known at its beginning, i.e. when its task is registered. */
export interface SubmissionStart extends Pick<
  Submission,
  | "id"
  | "requestDigest"
  | "endpoint"
  | "inputLinks"
  | "isHookless"
  | "isCall"
  | "isPassedOn"
  | "offer"
> {
  /** True when the account of the task submits the job itself. Absent for a submission of the operator. */
  readonly isByOwner?: boolean;
  /** Key of the customer, encrypted. Absent when the key of the connection is used. */
  readonly customerKey?: SealedKey;
  /** Names of the connections in whose queues the submission waits or holds a place. Absent when it is in none. */
  readonly queues?: readonly string[];
  /** Name of the connection at which the submission holds a place already. Absent when it holds none. */
  readonly place?: string;
  /**
   * Time from which a call that has waited is not sent any more, in Unix milliseconds. Absent when the configured
   * default applies.
   */
  readonly startByMs?: number;
}

/** Value of `error.code` for a task whose submission had an unknown outcome, and whose job never became known. */
export const SUBMIT_UNKNOWN_CODE = "submit_unknown";

/**
 * Largest body of an upstream's answer to a submission that is stored as long as the task, in bytes of UTF-8. A larger
 * body is stored only until the task is settled.
 */
const MAX_LASTING_BYTES = 2_048;

/**
 * Tells whether an upstream's answer to a submission is so small that it is stored as long as the task, for clients
 * that repeat the call.
 */
export function isLastingAnswer({ body }: SubmissionAnswer): boolean {
  return utf8Bytes(body) <= MAX_LASTING_BYTES;
}

/** Returns how many bytes a well-formed text takes in UTF-8. */
function utf8Bytes(text: string): number {
  let bytes = 0;
  for (const character of text) {
    const point = character.codePointAt(0) ?? 0;
    bytes += point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x1_0000 ? 3 : 4;
  }
  return bytes;
}

/**
 * Returns the submission of a task whose call may be sent from `now` on.
 * @param deadlineAt deadline of the task, in Unix milliseconds.
 */
export function startSubmission(
  start: SubmissionStart,
  deadlineAt: number,
  policy: Policy,
  now: number,
): Submission {
  const { id, requestDigest, endpoint, isByOwner = false, customerKey } = start;
  const { inputLinks, isHookless, isCall, isPassedOn, offer, queues, startByMs } = start;
  const identity = { id, requestDigest, endpoint, isByOwner };
  const key = customerKey
    ? ({ ...customerKey, kind: "sealed", unreadableSince: null } as const)
    : null;
  const startBy = Math.min(startByMs ?? now + policy.queueMs, deadlineAt);
  const state = isCall === true ? queuedUntil(startBy) : sendingFrom(start, policy, now);
  const input = inputLinks === undefined ? {} : { inputLinks };
  const hooks = isHookless === undefined ? {} : { isHookless };
  const call = isCall === undefined ? {} : { isCall };
  const passed = isPassedOn === undefined ? {} : { isPassedOn };
  const stay = startStay(queues, startBy);
  const known = { ...identity, startedAt: now, state, answer: null, customerKey: key };
  const rest = { ...(offer && { offer }), ...(stay && { stay }) };
  return { ...known, ...input, ...hooks, ...call, ...passed, ...rest };
}

/**
 * Returns the submission of a task whose price has just been charged, so that its call may be sent from `now` on. The end
 * of the wait of a call stays.
 */
export function restartSubmission(submission: Submission, policy: Policy, now: number): Submission {
  const { isCall, state } = submission;
  const next = isCall === true ? state : sendingFrom(submission, policy, now);
  return { ...submission, startedAt: now, state: next };
}

function queuedUntil(failsAt: number): SubmissionState {
  return { kind: "queued", failsAt };
}

/** Fields of a submission that say who sends its call: the Worker, or an object with or without a waiting caller. */
type Sender = Pick<Submission, "isCall" | "isPassedOn">;

function sendingFrom(sender: Sender, policy: Policy, now: number): SubmissionState {
  return { kind: "sending", endsAt: now + answerMs(sender, policy) };
}

function answerMs({ isCall, isPassedOn }: Sender, policy: Policy): number {
  if (isCall === true) return policy.asyncTimeoutMs + CALL_MARGIN_MS;
  if (isPassedOn === true) return passedAnswerMs(policy) + CALL_MARGIN_MS;
  return policy.submitTimeoutMs + ANSWER_MARGIN_MS;
}

/**
 * Returns the time in milliseconds in which an answer that is passed on must have arrived. It is longer than the time for
 * which the caller waits, so that no paid answer is lost.
 */
export function passedAnswerMs({
  submitTimeoutMs,
  asyncTimeoutMs,
}: Pick<Policy, "submitTimeoutMs" | "asyncTimeoutMs">): number {
  return Math.max(submitTimeoutMs, asyncTimeoutMs) + PASSING_MS;
}

/**
 * Returns a submission whose call has waited, and is sent from `now` on. For which members it is kept afterwards, its
 * sender reports with the upstream's answer.
 */
export function sentNow(submission: Submission, policy: Policy, now: number): Submission {
  const state = sendingFrom(submission, policy, now);
  return { ...keptFor(submission, []), startedAt: now, state };
}

/**
 * Returns a submission whose call waits for another attempt. If a Worker sends the call, because its caller waits for the
 * answer, the wait is short: the Worker asks other connections for a free place, and sends the call at once or not.
 */
export function queuedAgain(submission: Submission, stay: QueueStay, now: number): Submission {
  const failsAt = submission.isCall === true ? stay.startBy : now + NEXT_ATTEMPT_MS;
  return {
    ...submission,
    state: queuedUntil(failsAt),
    stay: { ...stay, attempt: stay.attempt + 1 },
  };
}

/** Returns a submission with another attempt that the upstream has refused. */
export function withRefusedAttempt(submission: Submission, refused: RefusedAttempt): Submission {
  const all = [...(submission.refusedAttempts ?? []), refused];
  return { ...submission, refusedAttempts: all.slice(-MAX_REFUSED_ATTEMPTS) };
}

/** Returns a submission whose call is kept for these further members of the pool. */
export function keptFor(submission: Submission, further: readonly string[]): Submission {
  const { further: _, ...known } = submission;
  return further.length === 0 ? known : { ...known, further };
}

/** Returns a submission whose call was not sent and will never be sent. */
export function neverSent(submission: Submission): Submission {
  return { ...submission, state: { kind: "unsent" } };
}

/**
 * Returns the state of a submission whose outcome has just become unknown, because no answer came, or one that states
 * neither a job nor a refusal.
 * @param hasNamedJob true when a hook has named a job already, which is then polled at once.
 * @param waitMs time for which the task waits for news of the job, in milliseconds.
 */
export function unknownFrom(
  statusCode: number | null,
  hasNamedJob: boolean,
  waitMs: number,
  now: number,
): UnknownOutcome {
  return {
    kind: "unknown",
    answeredAt: statusCode === null ? null : now,
    statusCode,
    failsAt: now + waitMs,
    askAt: hasNamedJob ? now : null,
    tries: 0,
  };
}

/**
 * Returns the submission in the state `accepted`, after a hook or another source than the upstream's answer has shown
 * that the upstream has accepted the submission. Null for a task without a submission.
 */
export function withJobKnown(submission: Submission | null): Submission | null {
  if (submission === null || submission.state.kind === "accepted") return submission;
  return { ...submission, state: { kind: "accepted", answeredAt: null, statusCode: null } };
}

/**
 * Returns the state of a submission whose outcome is unknown. Null when the outcome is known or still awaited, and when
 * there is no submission.
 */
export function unknownOutcomeOf(submission: Submission | null): UnknownOutcome | null {
  return submission?.state.kind === "unknown" ? submission.state : null;
}

/**
 * Returns the class of the refusal because of which a task has failed. Null when the upstream has not refused the
 * task's submission. (A submission that is refused while its caller waits leaves no task.)
 */
export function refusalOf(submission: Submission | null): RefusalClass | null {
  return unknownOutcomeOf(submission)?.refusal ?? null;
}

/**
 * State of a submission as readers see it: `refused` for a call that the upstream has refused while nobody waited for the
 * answer. A refusal that comes after an unknown outcome is shown as `unknown`, with the class of the refusal.
 */
export type ShownState = SubmissionState["kind"] | "refused";

export function shownState(submission: Submission): ShownState {
  const isRefused = submission.isCall === true && refusalOf(submission) !== null;
  return isRefused ? "refused" : submission.state.kind;
}

/** Tells whether the call of a submission waits to be sent. */
export function isQueued(submission: Submission | null): boolean {
  return submission?.state.kind === "queued";
}

/** Tells whether the upstream may still answer the call of a submission. */
export function isSending(submission: Submission | null): boolean {
  return submission?.state.kind === "sending";
}

/**
 * Tells whether an object is making the call of a submission whose answer may be the result: it is passed on, or nobody
 * waits for it and no hook can come. The object may be storing files under the keys of the task's outputs.
 */
export function isStoringResult(submission: Submission | null): boolean {
  const { isCall, isHookless, isPassedOn } = submission ?? {};
  const isResultPossible = isPassedOn === true || (isCall === true && isHookless === true);
  return isResultPossible && isSending(submission);
}

/**
 * Returns the time at which the present wait of a submission ends: the wait to be sent, for the upstream's answer, or for
 * news of the job, in Unix milliseconds. Null when the submission waits for nothing.
 */
export function waitEndsAt(submission: Submission | null): number | null {
  const state = submission?.state;
  switch (state?.kind) {
    case "queued":
    case "unknown":
      return state.failsAt;
    case "sending":
      return state.endsAt;
    case "unsent":
    case "accepted":
    case undefined:
      return null;
  }
}

/**
 * Returns the unknown outcome of a submission after a hook has named a job, with a poll of this job planned for now.
 */
export function askedSoon(unknown: UnknownOutcome, now: number): UnknownOutcome {
  return { ...unknown, askAt: Math.min(unknown.askAt ?? now, now), tries: 0 };
}

/**
 * Returns the unknown outcome of a submission after a poll of the job that a hook has named did not show that this job
 * belongs to the task. Another poll is planned, because the answer may have been lost or the poll may have come too
 * early. The last such poll is planned for the time when the task is about to fail.
 * @param waitMs time for which the provider allows no poll, in milliseconds; 0 for none.
 */
export function askedLater(unknown: UnknownOutcome, waitMs: number, now: number): UnknownOutcome {
  const { failsAt, tries } = unknown;
  if (now >= failsAt) return { ...unknown, askAt: null };
  const nextAt = now + Math.max(waitMs, backoff(FIRST_WAIT_MS, tries, MAX_WAIT_MS));
  return { ...unknown, askAt: Math.min(nextAt, failsAt), tries: tries + 1 };
}

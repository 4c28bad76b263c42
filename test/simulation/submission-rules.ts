import type { SubmitOutcome } from "../../src/core/events/event.ts";
import type { Submission, SubmissionState } from "../../src/core/record/submission.ts";
import {
  isOpen,
  isSettled,
  isTerminal,
  type OpenTask,
  type TaskRecord,
} from "../../src/core/record/task.ts";
import { type AttachedJob, sameJob } from "../../src/core/record/upstream.ts";
import { HOUR, MINUTE, SECOND } from "../core/builders.ts";
import { type Change, firstViolation, isEqual } from "./change.ts";
import { endOfAnswer, isProven, mayHookEnd } from "./end-rules.ts";
import type { SimulatedLedger } from "./ledger.ts";
import type { OutsideEvent } from "./moves.ts";
import type { Setting } from "./setting.ts";
import type { TaskHistory } from "./task-history.ts";

/** Time in milliseconds that a call has from its start to the report of its outcome, and its longest wait to be sent. */
const CALL_MS = 11 * MINUTE;
const QUEUE_MS = HOUR;
/** Time in milliseconds for an answer that is passed on: at least, and beyond the time limit of the call. */
const PASSED_MS = 13 * MINUTE;
const PASSED_MARGIN_MS = 3 * MINUTE;
/** Time in milliseconds that a Worker has to bring the upstream's answer after the time limit of the call. */
const MARGIN_MS = 10 * SECOND;
const FIRST_WAIT_MS = 5 * SECOND;
const MAX_WAIT_MS = 5 * MINUTE;

type Unknown = Extract<SubmissionState, { readonly kind: "unknown" }>;
/** One commit of a task that the relay submits. */
interface Step extends Change {
  readonly from: Submission;
  readonly to: Submission;
}

/**
 * Checks a call that submits a job and is about to be sent.
 * @param history task of the call; null for none.
 * @param stored record with the id of the task that is durably stored, perhaps of a later task.
 */
export function callFault(
  history: TaskHistory | null,
  ledger: SimulatedLedger,
  stored: TaskRecord | null,
): string | null {
  if (history === null) return "a call belongs to a recorded submission";
  const { calls, chargeId, outcomes, submissionId, isCall } = history;
  const submission = stored?.submission?.id === submissionId ? stored?.submission : null;
  const stage = submission?.state.kind;
  return firstViolation({
    "at most one call is sent for a task": calls === 0,
    "no call is sent before the price is charged":
      chargeId === null || ledger.count("charge", chargeId) === 1,
    // The object of a call goes on where a crash has lost this word.
    "no call is sent after the word that none will be":
      isCall || outcomes.every(({ kind }) => kind !== "not_sent"),
    "no call is sent that waits, or of a task that has given it up":
      stage !== "queued" && stage !== "unsent",
  });
}

/** Tells whether an event brings the outcome of a submission that is not that of this task. */
export function isOfAnotherLife(event: OutsideEvent, record: TaskRecord | null): boolean {
  if (event.type !== "submit_ended" || record === null) return false;
  return record.submission?.id !== event.submissionId;
}

/** Tells whether an event shows that the job of a submission runs, or whose job it is. */
export function isProof(
  event: OutsideEvent,
  task: OpenTask,
  setting: Setting,
  now: number,
): boolean {
  if (event.type !== "hook") return event.type === "report" || event.type === "attach";
  const isOwn = event.submissionId === task.submission?.id;
  return (isOwn && isProven(task, event)) || mayHookEnd(task, event, setting, now);
}

/** Returns the rule about submissions that a commit breaks; null when it breaks none. */
export function submissionFault(change: Change): string | null {
  const { before, after } = change;
  const { submission: to } = after;
  const from = before === null ? to : before.submission;
  const isSame = isEqual(identityOf(from), identityOf(to));
  if (!isSame) return "the submission of a task stays, with its request and its endpoint";
  if (from === null || to === null) return null;
  const step: Step = { ...change, from, to };
  const isBegun = before === null || (before.status === "charging" && after.status !== "charging");
  return (
    (isBegun ? beginFault(step) : stateFault(step)) ??
    jobFault(step) ??
    keptHooksFault(step) ??
    storedAnswerFault(step)
  );
}

function identityOf(submission: Submission | null) {
  return (
    submission && [
      submission.id,
      submission.requestDigest,
      submission.endpoint,
      submission.isByOwner,
      submission.isHookless ?? false,
      submission.isCall ?? false,
      submission.isPassedOn ?? false,
    ]
  );
}

/** Checks the beginning of a submission: with the registration, and again when its price is charged. */
function beginFault({ before, after, from, to, setting, now }: Step): string | null {
  const { submitTimeoutMs } = setting;
  const waitMs = to.isPassedOn
    ? Math.max(submitTimeoutMs + PASSED_MARGIN_MS, PASSED_MS)
    : submitTimeoutMs + MARGIN_MS;
  const endsAt = now + waitMs;
  const isUnsent = before !== null && from.state.kind === "unsent";
  const deadlineAt = isTerminal(after) ? 0 : after.deadlineAt;
  const state = to.isCall
    ? { kind: "queued", failsAt: Math.min(now + QUEUE_MS, deadlineAt) }
    : { kind: "sending", endsAt };
  return firstViolation({
    "a task whose call is never sent stays hidden": !isUnsent,
    "a submission begins with the registration, and with a price when it is charged":
      to.startedAt === now && isEqual(to.state, state) && to.answer === null,
  });
}

function stateFault(step: Step): string | null {
  const { before, after, from, to } = step;
  if (from.state.kind === "queued" && to.state.kind === "sending") return startFault(step);
  if (from.startedAt !== to.startedAt) return "the beginning of a submission stays";
  if (after.status === "charging") {
    return before?.status === "charging" ? unsentFault(step) : withdrawnFault(step);
  }
  if (to.state.kind === "unknown") return unknownFault(step, to.state);
  if (to.state.kind === "accepted") return acceptedFault(step);
  if (from.state.kind !== "unsent" && to.state.kind === "unsent") return givenUpFault(step);
  return firstViolation({
    "a submission that has an outcome is not sent again": isEqual(from.state, to.state),
    "a task does not end while its call waits or is under way":
      !isTerminal(after) || to.state.kind === "unsent",
  });
}

/** Checks the start of a call that has waited. */
function startFault({ after, from, to, history, now }: Step): string | null {
  const failsAt = from.state.kind === "queued" ? from.state.failsAt : 0;
  return firstViolation({
    "a call that waits begins only when its object asks": history.isStartAsked,
    "a call begins while it may wait": isOpen(after) && now < failsAt,
    "a call that begins has its time from then on":
      to.startedAt === now && isEqual(to.state, { kind: "sending", endsAt: now + CALL_MS }),
  });
}

/** Checks a change after which a call of a visible task will never be sent. */
function givenUpFault({ after, from, history, now }: Step): string | null {
  const { state } = from;
  const isTold = history.outcomes.some(({ kind }) => kind === "not_sent");
  const isOver = state.kind === "queued" && now >= state.failsAt;
  const isCanceled = state.kind === "queued" && history.isCanceled;
  return firstViolation({
    "a call that is given up has failed its task": after.status === "failed",
    "a call is given up when it was not sent, has waited for too long or is canceled while it waits":
      isTold || isOver || isCanceled,
    "a call whose task has ended is not given up": state.kind !== "accepted",
  });
}

/** Checks a change of a hidden task: its call may become one that is never sent. */
function unsentFault({ from, to, history }: Step): string | null {
  const isSaid = history.outcomes.some(({ kind }) => kind === "not_sent");
  const isWaiting = from.state.kind === "sending" || from.state.kind === "queued";
  const isDropped = isWaiting && to.state.kind === "unsent" && isSaid;
  return firstViolation({
    "only the word that no call is sent changes a hidden submission":
      isDropped || isEqual(from.state, to.state),
  });
}

/** Checks the withdrawal of a task with a price. */
function withdrawnFault({ before, from, to, history, submitters }: Step): string | null {
  const isNone = history.outcomes.some(({ kind }) => kind === "refused" || kind === "not_sent");
  return firstViolation({
    "only an open task whose call is under way is withdrawn":
      before !== null && isOpen(before) && from.state.kind === "sending",
    "a task whose caller knows of it is not withdrawn": to.isCall !== true,
    "a task is withdrawn when its call was refused or not sent": isNone,
    "a task whose job runs is not withdrawn": !submitters.hasStarted(from.id),
    "a withdrawal leaves the submission": isEqual(from.state, to.state),
  });
}

/** Tells whether nothing can show the job of a submission whose call is under way, because none is known and no hook can come. */
function isUntraceable(task: TaskRecord | null): boolean {
  if (task === null || !isOpen(task) || task.submission?.isHookless !== true) return false;
  const isNamed = task.tracking.keptHooks.some(({ jobId }) => jobId !== null);
  return task.upstream?.job === null && !isNamed;
}

/** Checks a change after which the outcome of a submission is unknown. */
function unknownFault(step: Step, to: Unknown): string | null {
  const { from, now, history, setting, before, after } = step;
  if (from.state.kind === "unknown") return waitFault(step, from.state, to);
  if (to.refusal !== undefined) return refusedCallFault(step, to);
  const known = from.state.kind === "sending" ? from.state : null;
  const isOver = known !== null && now >= known.endsAt;
  const isTold = history.outcomes.some(
    (one) => one.kind === "unknown" && one.statusCode === to.statusCode,
  );
  const { keptHooks } = before !== null && isOpen(before) ? before.tracking : { keptHooks: [] };
  const isNamed = keptHooks.some(({ jobId }) => jobId !== null);
  return firstViolation({
    "an outcome that is known does not become unknown": known !== null,
    "an outcome becomes unknown when the time for the answer is over, or by an unclear answer":
      (isOver && to.statusCode === null) || isTold,
    "an unclear answer is dated": to.answeredAt === (to.statusCode === null ? null : now),
    "a task waits for the job of an unknown outcome for the configured time, where something can show it":
      to.failsAt === now + (isUntraceable(before) ? 0 : setting.submitUnknownMs),
    "a task whose outcome becomes unknown fails at once only where nothing can show its job":
      isTerminal(after) === isUntraceable(before),
    "a job that a hook has named before an unknown outcome is asked for at once":
      to.askAt === (isNamed ? now : null) && to.tries === 0,
  });
}

/** Checks the end of a task whose call the upstream has refused. */
function refusedCallFault({ from, now, history, after }: Step, to: Unknown): string | null {
  return firstViolation({
    "only a call whose caller does not wait is refused at once and kept": from.isCall === true,
    "a refused call is what its object has reported": history.outcomes.some((one) =>
      isRefusal(one, to),
    ),
    "a refused call is dated, and waits for nothing":
      to.answeredAt === now && to.failsAt === now && to.askAt === null,
    "a refused call fails its task": after.status === "failed",
  });
}

/** Checks a change while the outcome of a submission stays unknown: only the next poll of its job moves. */
function waitFault({ now, history, after }: Step, from: Unknown, to: Unknown): string | null {
  const { keptAnswer } = history;
  const namedMs =
    keptAnswer !== null && "retryAfterMs" in keptAnswer ? (keptAnswer.retryAfterMs ?? 0) : 0;
  const waitMs = Math.max(namedMs, Math.min(FIRST_WAIT_MS * 2 ** from.tries, MAX_WAIT_MS));
  const laterAt = now >= to.failsAt ? null : Math.min(now + waitMs, to.failsAt);
  const isRefused = isTerminal(after) && history.outcomes.some((one) => isRefusal(one, to));
  const isSame = from.askAt === to.askAt && from.tries === to.tries;
  const isSoon = to.tries === 0 && to.askAt === Math.min(from.askAt ?? now, now);
  const isLater = to.askAt === laterAt && (laterAt === null || to.tries === from.tries + 1);
  return firstViolation({
    "the end of the wait for a job stays": from.failsAt === to.failsAt,
    "the unclear answer to a submission stays until a refusal ends the task":
      (from.answeredAt === to.answeredAt &&
        from.statusCode === to.statusCode &&
        from.refusal === to.refusal) ||
      (isRefused && to.answeredAt === now),
    "a job that a hook has named is asked for at once, then after waits that double":
      isSame || isSoon || isLater,
  });
}

/** Checks a change after which a submission counts as accepted. */
function acceptedFault({ from, to, history, now, before, after }: Step): string | null {
  const [old, state] = [from.state, to.state];
  if (state.kind !== "accepted") return null;
  const answers = history.outcomes.filter(({ kind }) => kind === "accepted" || kind === "result");
  const isAnswered = state.answeredAt !== null;
  const wasAnswered = old.kind === "accepted" && old.answeredAt !== null;
  const wasEnded = before !== null && isTerminal(before);
  return firstViolation({
    "a submission counts as accepted when something shows its job":
      old.kind === "accepted" || answers.length > 0 || history.isJobShown,
    "the answer to a submission is dated once":
      !isAnswered || (wasAnswered ? isEqual(old, state) : state.answeredAt === now),
    "the status of an answer is that of the upstream":
      state.statusCode === null || answers.some((one) => isStatus(one, state.statusCode)),
    "an answer that is known stays": !wasAnswered || isAnswered,
    "the result of an ended task stays": !wasEnded || before.status === after.status,
  });
}

function isRefusal(outcome: SubmitOutcome, { statusCode, refusal }: Unknown): boolean {
  const { kind } = outcome;
  return kind === "refused" && outcome.statusCode === statusCode && outcome.refusal === refusal;
}

function isStatus(outcome: SubmitOutcome, statusCode: number | null): boolean {
  return "statusCode" in outcome && outcome.statusCode === statusCode;
}

/** Checks that the job of a task is the one that its own submission has started, or that an order has attached. */
function jobFault({ before, after, to, history, submitters }: Step): string | null {
  const job = after.upstream?.job ?? null;
  if (job === null || (before !== null && sameJob(before.upstream?.job ?? null, job))) return null;
  const isOwn = submitters.isOwn(to.id, job.id) && job.endpoint === to.endpoint;
  return firstViolation({
    "no job of another task or of another life is attached":
      isOwn || history.orderedJobs.has(job.id),
  });
}

/** Checks that the jobs which hooks have named stay known until a job is attached or a poll at the deadline. */
function keptHooksFault({ before, after, history }: Step): string | null {
  if (before === null || !isOpen(before) || !isOpen(after)) return null;
  const isForgotten = after.tracking.keptHooks.length < before.tracking.keptHooks.length;
  const isAttached = after.upstream !== null && after.upstream.job !== null;
  return firstViolation({
    "a hook is kept until a job is attached or its own job was polled at the deadline":
      !isForgotten || isAttached || history.polledAt >= before.deadlineAt,
  });
}

/** Tells whether an answer to a submission is kept as long as its task: its body has at most 2 KB. */
function isLasting(answer: Submission["answer"]): boolean {
  return answer !== null && new TextEncoder().encode(answer.body).length <= 2048;
}

/** Checks that the answer to a submission is kept for repetitions until the task is settled, a small one for ever. */
function storedAnswerFault({ before, after, from, to, history }: Step): string | null {
  const isOld = isTerminal(after) && isSettled(after);
  const isBrought = history.outcomes.some(
    (one) => "answer" in one && isEqual(one.answer, to.answer),
  );
  const isKept = before === null || from.answer === null || isEqual(from.answer, to.answer);
  return firstViolation({
    "a large answer to a submission goes when its task is settled":
      !isOld || to.answer === null || isLasting(to.answer),
    "the answer to a submission stays until its task is settled, and a small one as long as the task":
      isKept || (isOld && !isLasting(from.answer)),
    "the answer that is kept is the upstream's": to.answer === null || isBrought,
  });
}

/** Checks that the job of an answer that comes after the end of its task is attached. */
function lateOutcomeFault(
  outcome: SubmitOutcome,
  { state }: Submission,
  after: TaskRecord | null,
): string | null {
  if (outcome.kind !== "accepted" && outcome.kind !== "result") return null;
  const isNews = state.kind !== "accepted" && outcome.job !== null;
  const isAttached = after?.upstream?.job?.id === outcome.job?.id;
  return firstViolation({
    "the job of an answer that comes after the end of its task is known": !isNews || isAttached,
  });
}

/** Checks the effect of an outcome that was brought. @param before task before it; null for none. */
export function outcomeFault(
  { submissionId, outcome }: Extract<OutsideEvent, { readonly type: "submit_ended" }>,
  before: TaskRecord | null,
  after: TaskRecord | null,
  setting: Setting,
): string | null {
  const submission = before?.submission ?? null;
  if (before === null || submission?.id !== submissionId) {
    return firstViolation({ "an outcome of another life changes nothing": after === before });
  }
  const isAnswered = submission.state.kind === "accepted" && submission.state.answeredAt !== null;
  if (isAnswered) {
    return firstViolation({ "an outcome that is brought again changes nothing": after === before });
  }
  if (before.status === "charging") {
    const isDropped = after?.submission?.state.kind === "unsent";
    const isOwed = outcome.kind === "not_sent" && before.credits.state.kind === "charging";
    return firstViolation({
      "a call that is not sent has its price returned": !isOwed || isDropped,
    });
  }
  if (!isOpen(before)) return lateOutcomeFault(outcome, submission, after);
  const state = submission.state.kind;
  const isUnderWay = state === "sending" || state === "queued";
  switch (outcome.kind) {
    case "accepted": {
      const isAttached = after?.upstream?.job?.id === outcome.job.id;
      const isNoted = after?.submission?.state.kind === "accepted" && isAttached;
      return firstViolation({ "a task whose submission was accepted has its job": isNoted });
    }
    case "result": {
      const isEnded = after !== null && isTerminal(after);
      const status = endOfAnswer(outcome.news, setting)?.status;
      return firstViolation({
        "a result in the answer ends the task": isEnded && after.status === status,
      });
    }
    case "refused":
    case "not_sent": {
      const isGone = after === null || after.status === "charging";
      const isFailed = outcome.kind === "not_sent" || after?.status === "failed";
      const { isCall = false } = submission;
      return firstViolation({
        "a task whose call was refused or not sent is withdrawn": !isUnderWay || isCall || isGone,
        "a task whose caller does not wait fails when its call was refused or not sent":
          !isUnderWay || !isCall || after?.status === "failed",
        "a refused call keeps its answer":
          !isUnderWay ||
          outcome.kind !== "refused" ||
          outcome.answer === undefined ||
          isEqual(after?.submission?.answer, outcome.answer),
        "a refusal after an unknown outcome fails the task": state !== "unknown" || isFailed,
        "a refusal leaves a task whose job is known": state !== "accepted" || after === before,
      });
    }
    case "unknown":
      return firstViolation({
        "an unclear answer leaves the outcome unknown": isUnderWay
          ? after?.submission?.state.kind === "unknown"
          : after === before,
      });
  }
}

/**
 * Returns why the erasure of a task breaks the promise that the id of a job leads to no erased task; null when it does
 * not.
 * @param forgotten job that was forgotten before; null for none.
 */
export function unforgottenFault(
  { submission, upstream }: TaskRecord,
  forgotten: AttachedJob | null,
): string | null {
  const { state } = submission ?? { state: null };
  const isNamed = state?.kind === "accepted" && state.answeredAt !== null && upstream?.job != null;
  const { connection = null, job = null } = (isNamed ? upstream : null) ?? {};
  const named = job === null ? null : { connection, job };
  return firstViolation({
    "the job of an answered submission is forgotten before its task is erased": isEqual(
      forgotten,
      named,
    ),
  });
}

import { changed, type Decision } from "./events/decision.ts";
import {
  endAttempt,
  redeliver,
  restStartedAttempt,
  startAttempt,
} from "./events/callback-attempts.ts";
import { endCancel } from "./events/cancel-end.ts";
import { checkCustomerKey, withoutUnneededKey } from "./events/customer-key-events.ts";
import { cancel, cancelSubmitted, erase, endAtDeadline } from "./events/deadline-cancel-erase.ts";
import type {
  AttachEvent,
  AttemptEndedEvent,
  AttemptRestedEvent,
  CallEndedEvent,
  CancelEvent,
  CancelSubmittedEvent,
  HookEvent,
  HookRefusedEvent,
  OutputEvent,
  PollEndedEvent,
  RedeliverEvent,
  SubmissionEvent,
  TaskEvent,
} from "./events/event.ts";
import { applyHook, attach } from "./events/hooks.ts";
import { register, report } from "./events/intake.ts";
import { endKeptJobPoll } from "./events/kept-jobs.ts";
import { endLatePoll } from "./events/late-results.ts";
import { endIndexRow, rewriteIndexRow } from "./events/index-row-events.ts";
import { endNotice } from "./events/operator-notice-end.ts";
import { deleteOutputs, endCopies, endCopyOrder } from "./events/output-copies.ts";
import { endPoll } from "./events/polling.ts";
import { refuseHook } from "./events/refused-hooks.ts";
import { withoutRepeatedInput } from "./events/repeated-input.ts";
import { refuseCall } from "./events/call-refusal.ts";
import { startCall } from "./events/call-start.ts";
import { endQueueLeave } from "./events/queue-leave-end.ts";
import { endLostSubmission, endSubmission } from "./events/submission-end.ts";
import { endCharge, endRefund, endRelease } from "./events/charge-refund-end.ts";
import { OF_A_LATER_RELEASE } from "./other-format.ts";
import type { Policy } from "./policy.ts";
import { type Counts, withOneMore } from "./record/counts.ts";
import { noteIndexRow } from "./plans/index-row-schedule.ts";
import { withLeavePlanned } from "./plans/queue-places.ts";
import { isLastingAnswer } from "./record/submission.ts";
import { isSettled, isTerminal, type TaskRecord } from "./record/task.ts";

/**
 * Returns the effect of an event on a task. Every change of a task is decided here.
 * @param record the task as it is stored now; null when there is none.
 * @param now current time on the clock of the task's work loop, in Unix milliseconds.
 */
export function transition(
  record: TaskRecord | null,
  event: TaskEvent,
  policy: Policy,
  now: number,
): Decision {
  const decision = decide(record, withoutRepeatedInput(event, record), policy, now);
  if (decision.kind !== "changed") return decision;
  const known = withoutUnneededKey(withoutOldAnswer(decision.record), policy, now);
  const after = withLeavePlanned(record, known, now);
  return { ...decision, record: noteIndexRow(record, after, policy, now) };
}

function decide(
  record: TaskRecord | null,
  event: TaskEvent,
  policy: Policy,
  now: number,
): Decision {
  switch (event.type) {
    case "register":
      return register(record, event, policy, now);
    case "report":
      return report(record, event, policy, now);
    case "call_started":
    case "call_refused":
    case "submit_ended":
    case "submission_lost":
    case "customer_key_checked":
      return decideOnSubmission(record, event, policy, now);
    case "attach":
    case "hook":
    case "hook_refused":
      return decideOnJob(record, event, policy, now);
    case "rewrite_index_row":
      return rewriteIndexRow(record, event, policy, now);
    case "cancel":
    case "cancel_submitted":
    case "erase":
    case "deadline":
      return decideOnEnd(record, event, policy, now);
    case "redeliver":
    case "attempt_started":
    case "attempt_rested":
    case "attempt_ended":
      return decideOnCallback(record, event, policy, now);
    case "charge_ended":
    case "poll_ended":
    case "cancel_ended":
    case "refund_ended":
    case "release_ended":
    case "queue_left":
    case "index_row_ended":
    case "notice_ended":
      return endCall(record, event, policy, now);
    case "copies_ordered":
    case "copies_ended":
    case "delete_outputs":
      return decideOnOutputs(record, event, policy, now);
    default:
      return unknownEvent(event);
  }
}

function decideOnJob(
  record: TaskRecord | null,
  event: AttachEvent | HookEvent | HookRefusedEvent,
  policy: Policy,
  now: number,
): Decision {
  switch (event.type) {
    case "attach":
      return attach(record, event, policy, now);
    case "hook":
      return counted("hooks", applyHook(record, event, policy, now));
    case "hook_refused":
      return refuseHook(record, event, now);
  }
}

function decideOnCallback(
  record: TaskRecord | null,
  event:
    | RedeliverEvent
    | { readonly type: "attempt_started" }
    | AttemptRestedEvent
    | AttemptEndedEvent,
  policy: Policy,
  now: number,
): Decision {
  switch (event.type) {
    case "redeliver":
      return redeliver(record, event, policy, now);
    case "attempt_started":
      return startAttempt(record, policy, now);
    case "attempt_rested":
      return restStartedAttempt(record, event, policy, now);
    case "attempt_ended":
      return endAttempt(record, event, policy, now);
  }
}

function decideOnEnd(
  record: TaskRecord | null,
  event: CancelEvent | CancelSubmittedEvent | { readonly type: "erase" | "deadline" },
  policy: Policy,
  now: number,
): Decision {
  switch (event.type) {
    case "cancel":
      return cancel(record, event, policy, now);
    case "cancel_submitted":
      return cancelSubmitted(record, policy, now);
    case "erase":
      return erase(record);
    case "deadline":
      return endAtDeadline(record, policy, now);
  }
}

/**
 * Returns the effect of the end of a call to another service that the work loop has made for the task, e.g. of a poll.
 */
function endCall(
  record: TaskRecord | null,
  event: CallEndedEvent,
  policy: Policy,
  now: number,
): Decision {
  switch (event.type) {
    case "charge_ended":
      return endCharge(record, event, policy, now);
    case "poll_ended":
      return counted("polls", endPollOf(record, event, policy, now));
    case "cancel_ended":
      return endCancel(record, event, policy, now);
    case "refund_ended":
      return endRefund(record, event, policy, now);
    case "release_ended":
      return endRelease(record, event, policy, now);
    case "queue_left":
      return endQueueLeave(record, event, now);
    case "index_row_ended":
      return endIndexRow(record, event);
    case "notice_ended":
      return endNotice(record, event, now);
  }
}

function decideOnOutputs(
  record: TaskRecord | null,
  event: OutputEvent,
  policy: Policy,
  now: number,
): Decision {
  switch (event.type) {
    case "copies_ordered":
      return endCopyOrder(record, event, now);
    case "copies_ended":
      return endCopies(record, event, policy, now);
    case "delete_outputs":
      return deleteOutputs(record, event, now);
  }
}

function decideOnSubmission(
  record: TaskRecord | null,
  event: SubmissionEvent,
  policy: Policy,
  now: number,
): Decision {
  switch (event.type) {
    case "call_started":
      return startCall(record, event, policy, now);
    case "call_refused":
      return refuseCall(record, event, policy, now);
    case "submit_ended":
      return endSubmission(record, event, policy, now);
    case "submission_lost":
      return endLostSubmission(record, policy, now);
    case "customer_key_checked":
      return checkCustomerKey(record, policy, now);
  }
}

/**
 * Returns the record of a task without the upstream's answer to its submission, if the task is settled and this answer
 * is large. The answer would otherwise be stored again with each later change. Any other record is returned unchanged.
 */
function withoutOldAnswer(record: TaskRecord): TaskRecord {
  const { submission } = record;
  if (submission === null || submission.answer === null) return record;
  const isOld = isTerminal(record) && isSettled(record) && !isLastingAnswer(submission.answer);
  return isOld ? { ...record, submission: { ...submission, answer: null } } : record;
}

function endPollOf(
  record: TaskRecord | null,
  event: PollEndedEvent,
  policy: Policy,
  now: number,
): Decision {
  switch (event.purpose) {
    case "result":
      return endPoll(record, event, policy, now);
    case "kept_job":
      return endKeptJobPoll(record, event, policy, now);
    case "late_result":
      return endLatePoll(record, event, policy, now);
  }
}

/**
 * Throws an error, because the event has a type that only a later release knows. Such an event comes from a Worker of
 * that release while the Durable Object still runs this release.
 */
function unknownEvent(event: never): never {
  const { type }: TaskEvent = event;
  throw new Error(`an event ${OF_A_LATER_RELEASE}: ${type}`);
}

/**
 * Returns the decision about a hook or poll, with the hook or poll counted in the record. A decision that changes
 * nothing else is returned without this count, because the count alone would cause a write to the storage.
 */
function counted(what: keyof Counts, decision: Decision): Decision {
  if (decision.kind !== "changed") return decision;
  return changed(withOneMore(decision.record, what), decision.note);
}

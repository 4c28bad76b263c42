import type { SpentMonth } from "../../core/events/event.ts";
import type { CallRefusalReply } from "../../core/events/call-refusal.ts";
import type { CallStart } from "../../core/events/call-start.ts";
import type {
  CallRefusedEvent,
  CallStartedEvent,
  SubmitEndedEvent,
} from "../../core/events/event.ts";
import type { OutputPlace } from "../../core/views/output-place.ts";
import type { Env } from "../../env.ts";
import type { AnswerReply } from "../../objects/task/answer-reply.ts";
import type { JobOutput, JobQuestion, JobReply } from "../../objects/task/job-reply.ts";
import type { Applied, InspectedTask, Refusal, TaskReply } from "../../objects/task/reply.ts";
import type { Caller } from "../../objects/task/caller.ts";
import type { OutsideEvent } from "../../objects/task/outside-event.ts";
import { taskObject } from "../../objects/task/task-stub.ts";
import {
  invalidRequest,
  Problem,
  unknownAccount,
  unknownEndpoint,
  unknownTask,
} from "../http/problem.ts";
import { callObject, unavailable, unknownAnswer } from "../http/object-call.ts";

/**
 * Returns functions that call the Durable Object of a task. Each throws the Problem `unavailable` when the object
 * cannot be reached.
 */
export function taskClient(env: Env, id: string) {
  // A stub that has failed stays broken, so each call takes a new one.
  const stub = () => taskObject(env, id);
  return {
    read: (caller: Caller) => callObject<TaskReply | null>(() => stub().read(caller)),
    readByLink: (createdAtS: number, recordedAt: number) =>
      callObject<TaskReply | null>(() => stub().readByLink(createdAtS, recordedAt)),
    readAnswer: (caller: Caller) => callObject<AnswerReply | null>(() => stub().readAnswer(caller)),
    placeOfOutput: (recordedAt: number, number: number) =>
      callObject<OutputPlace | null>(() => stub().placeOfOutput(recordedAt, number)),
    readJob: (question: JobQuestion, caller: Caller) =>
      callObject<JobReply>(() => stub().readJob(question, caller)),
    cancelJob: (question: JobQuestion, caller: Caller) =>
      callObject<Applied>(() => stub().cancelJob(question, caller)),
    outputOfJob: (question: JobQuestion, number: number, caller: Caller) =>
      callObject<JobOutput>(() => stub().outputOfJob(question, number, caller)),
    deleteOutputs: (number: number | null, caller: Caller) =>
      callObject<Applied | null>(() => stub().deleteOutputs(number, caller)),
    isKnown: () => callObject<boolean>(() => stub().isKnown()),
    inspect: (caller: Caller) => callObject<InspectedTask | null>(() => stub().inspect(caller)),
    endSubmission: (event: SubmitEndedEvent, caller: Caller) =>
      callObject<TaskReply | null>(() => stub().endSubmission(event, caller)),
    startCall: (event: CallStartedEvent) => callObject<CallStart>(() => stub().startCall(event)),
    refuseCall: (event: CallRefusedEvent) =>
      callObject<CallRefusalReply>(() => stub().refuseCall(event)),
    apply: (event: OutsideEvent, caller: Caller) =>
      callObject<Applied>(() => stub().apply(event, caller)),
  };
}

/**
 * Returns the task after its object has accepted an event, e.g. a result, and whether the event changed the task
 * (`isNew`).
 * @throws Problem when the object has refused the event.
 */
export function accepted(applied: Applied): { readonly isNew: boolean; readonly task: TaskReply } {
  switch (applied.kind) {
    case "recorded":
    case "repeated":
      return { isNew: applied.kind === "recorded", task: applied.task };
    case "erased":
      throw new Error("the event has erased the task");
    case "refused":
      throw problemOf(applied.refusal);
    default:
      throw unknownAnswer(applied);
  }
}

/** Error texts of those refusals whose response contains the task. */
const DETAILS = {
  idempotency_key_reused:
    "An order for a redelivery with another callback_url was given under this key.",
  not_cancelable:
    "An account can cancel only a task that it has submitted, whose job is known, and whose upstream has a call to cancel jobs.",
} as const;

/**
 * Returns the problem for a task whose price exceeds the credits of its account.
 * @param price null when it is only known that every offer for the task costs more.
 */
export function insufficientCredits(balance: number, price: number | null): Problem {
  const cost = price === null ? "more than the account has" : `${price} credits`;
  const detail = `The task costs ${cost}, and the account has ${balance} credits.`;
  const members = { balance, ...(price !== null && { price }) };
  return new Problem("insufficient_credits", { detail, members });
}

/**
 * Returns the problem for a task whose price exceeds what the account may still spend in this month.
 * @param price null when it is only known that every offer for the task costs more.
 */
export function monthlyLimitReached({ limit, spent }: SpentMonth, price: number | null): Problem {
  const cost = price === null ? "more than the account may spend" : `${price} credits`;
  const detail = `The task costs ${cost}. In this month (UTC) the account has spent ${spent} of at most ${limit}.`;
  const members = {
    ...(price !== null && { price }),
    monthly_limit: limit,
    spent_this_month: spent,
  };
  return new Problem("monthly_limit", { detail, members });
}

/** Returns the problem for an event that a task's object has refused. */
function problemOf(refusal: Refusal): Problem {
  switch (refusal.code) {
    case "unknown_task":
      return unknownTask();
    case "unknown_account":
      return unknownAccount();
    case "unknown_output": {
      const detail = "The task has no output with this number that the relay has a link for.";
      return new Problem("not_found", { detail });
    }
    case "too_large":
      return new Problem("payload_too_large", {
        detail: `The task with this body would take more than ${refusal.maxBytes} bytes as it is stored.`,
      });
    case "charging":
      return unavailable("The charge for this task is still in progress.");
    case "idempotency_key_reused":
    case "not_cancelable":
      return new Problem(refusal.code, {
        detail: DETAILS[refusal.code],
        taskJson: refusal.task.json,
      });
    case "submission_running": {
      const detail = "The upstream has not answered the submission of this task yet.";
      const headers = { "Retry-After": "2" };
      return new Problem(refusal.code, { detail, taskJson: refusal.task.json, headers });
    }
    case "insufficient_credits": {
      return insufficientCredits(refusal.balance, refusal.price);
    }
    case "monthly_limit":
      return monthlyLimitReached(refusal, refusal.price);
    case "invalid_field":
      return invalidRequest([{ path: refusal.field, message: refusal.message }]);
    case "unknown_endpoint":
      return unknownEndpoint(refusal.field);
    case "task_exists":
    case "conflicting_result":
    case "task_open":
    case "task_settled":
    case "series_running":
    case "no_callback": {
      const detail = "The member task is the current state of the task.";
      return new Problem(refusal.code, { detail, taskJson: refusal.task.json });
    }
    default:
      return unknownAnswer(refusal);
  }
}

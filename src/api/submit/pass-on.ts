import { SECOND_MS } from "../../core/time.ts";
import { errorText, log } from "../../lib/log.ts";
import { streamOf } from "../../lib/stream.ts";
import { withinTime, withTimeout } from "../../lib/timeout.ts";
import type { StoppedWait } from "../../objects/call/call-object.ts";
import type { PassedAnswer, WholeAnswer } from "../../objects/call/waiting-caller.ts";
import { accountOf } from "../../objects/task/caller.ts";
import { newCallObject } from "../../objects/object-names.ts";
import type { TaskReply } from "../../objects/task/reply.ts";
import { contentToClient } from "../http/client-stream.ts";
import { taskClient } from "../tasks/task-client.ts";
import { mayBeSentAgain } from "../../objects/call/call-plan.ts";
import type { GrantedPlace } from "../../objects/queue/queue-row.ts";
import { answered } from "./answered.ts";
import { bringOutcome } from "./bring-outcome.ts";
import { storedCallOf } from "./call-later.ts";
import type { CallAttempt } from "./call-place.ts";
import { passedHeaders } from "./sent-headers.ts";
import type { SubmissionPlan, SubmitCall } from "./submission-plan.ts";
import { statusUrlOf, unknownOutcome } from "./submitted.ts";

/**
 * Time limit in milliseconds for the end of the wait of a caller, which takes longer when the answer comes at this moment
 * and its outcome is still being stored.
 */
const STOP_MS = 20 * SECOND_MS;
const UNKNOWN = { kind: "unknown", statusCode: null } as const;

/**
 * Lets an object of its own (objects/call) send the call of a submission, and passes its answer on to the caller. The
 * object stores the outcome, and reads a long answer to its end also when the caller goes away. When the answer does not
 * begin within `SUBMIT_TIMEOUT_S`, the caller is told that the outcome is unknown, and the object goes on.
 */
export async function passOn(
  plan: SubmissionPlan,
  registered: TaskReply,
  submitCall: SubmitCall,
  place: GrantedPlace | null,
): Promise<CallAttempt> {
  const { event } = plan;
  const passed = await passedAnswer(plan, registered, submitCall, place);
  const going = { outcome: null, isReported: false, drop: () => undefined };
  if (passed === null) {
    const end = async () => {
      throw await unknownOutcome(event, await latest(registered, plan, submitCall), submitCall);
    };
    return { ...going, end };
  }
  if (passed.kind === "whole") return wholeAttempt(passed, plan, registered, submitCall, place);
  const end = async () => {
    const headers = passedHeaders(passed.headers);
    const statusUrl = await statusUrlOf(event, registered, submitCall);
    const { status, body } = passed;
    return { taskId: event.id, status, headers, body, statusUrl, isReplayed: false };
  };
  return { ...going, end };
}

/** Returns an attempt whose answer is known as a whole. Of one that may be followed by another, only the refusal is stored. */
function wholeAttempt(
  passed: WholeAnswer,
  plan: SubmissionPlan,
  registered: TaskReply,
  submitCall: SubmitCall,
  place: GrantedPlace | null,
): CallAttempt {
  const { event, submissionId } = plan;
  const { outcome } = passed;
  const isOpen = place !== null && mayBeSentAgain(outcome);
  const end = async () => {
    const { isStored } = isOpen
      ? await bringOutcome(event.id, submissionId, outcome, submitCall)
      : passed;
    const { kind } = outcome;
    const task = kind === "unknown" ? await latest(registered, plan, submitCall) : registered;
    const ended = { ...passed, isStored, task: kind === "refused" ? null : task };
    return await answered(ended, plan, submitCall, contentToClient);
  };
  return { outcome, isReported: isOpen && passed.isStored, drop: () => undefined, end };
}

/** Lets the call be sent. @returns null when its answer has not begun in time, or its object has failed. */
async function passedAnswer(
  plan: SubmissionPlan,
  { recordedAt }: TaskReply,
  submitCall: SubmitCall,
  place: GrantedPlace | null,
): Promise<PassedAnswer | null> {
  const { event, sent, submissionId } = plan;
  const { caller, env, runtime } = submitCall;
  const { body } = sent;
  const customerKey = event.submission?.customerKey ?? null;
  const order = { customerKey, recordedAt, ...(place && { place }) };
  const stream = body instanceof ReadableStream ? body : streamOf(body ?? []);
  const object = newCallObject(env);
  const send = async (): Promise<PassedAnswer> =>
    await object().passOn(storedCallOf(plan), order, stream, accountOf(caller));
  const { submitTimeoutMs } = runtime.config;
  try {
    const passed = await withinTime<PassedAnswer | null>(send, null, submitTimeoutMs);
    if (passed !== null) return passed;
  } catch (error) {
    log({ event: "call.lost", task_id: event.id, error: errorText(error) }, "error");
  }
  const stop = async (): Promise<StoppedWait> => await object().stopWaiting();
  const stopped = await withTimeout<StoppedWait>(
    "object of a call",
    stop,
    { kind: "going_on" },
    STOP_MS,
  );
  switch (stopped.kind) {
    case "whole":
      return stopped;
    case "going_on":
      return null;
    case "lost":
      await bringOutcome(event.id, submissionId, UNKNOWN, submitCall);
      return null;
  }
}

/** Returns the task of a submission as it is now; as it was registered when its object cannot be reached. */
async function latest(
  registered: TaskReply,
  { event }: SubmissionPlan,
  { env, caller }: SubmitCall,
): Promise<TaskReply | null> {
  return await taskClient(env, event.id)
    .read(caller)
    .catch(() => registered);
}

import type { StoredCall } from "../../objects/call/call-plan.ts";
import type { TaskReply } from "../../objects/task/reply.ts";
import { bytesOf } from "../../security/encoding.ts";
import { RETRY_AFTER_S } from "../tasks/read-task.ts";
import { bringOutcome } from "./bring-outcome.ts";
import type { CustomerCredential } from "./customer-credential.ts";
import { queueFull, registeredBefore } from "./call-place.ts";
import type { PendingCall } from "./pending-call.ts";
import { RESPOND_ASYNC } from "./preference.ts";
import { registeredTask } from "./registered-task.ts";
import { sentHeaders } from "./sent-headers.ts";
import type { SubmissionPlan, SubmitCall } from "./submission-plan.ts";
import { statusUrlOf, type Submitted } from "./submitted.ts";

/**
 * Stores the call of a submission whose client does not wait for the upstream's response, registers its task, and lets
 * the call be sent. A repeated submission gets the task as it is.
 */
export async function callLater(
  plan: SubmissionPlan,
  submitCall: SubmitCall,
  pending: PendingCall,
): Promise<Submitted> {
  const { body } = plan.sent;
  const parts = body instanceof ReadableStream ? null : body;
  const full = await pending.store(storedCallOf(plan), parts);
  const { task, isNew } =
    full === null
      ? await registeredTask(plan, submitCall, () => pending.leave())
      : await registeredBefore(plan, submitCall, queueFull(full));
  if (isNew) submitCall.env.startup.waitUntil(beginOrEnd(plan, submitCall, pending));
  return await answerWith(task, !isNew, plan, submitCall);
}

/** Lets the stored call be sent. If its object has forgotten it, because the registration took too long, ends its task. */
async function beginOrEnd(
  { event, submissionId }: SubmissionPlan,
  submitCall: SubmitCall,
  pending: PendingCall,
): Promise<void> {
  if (await pending.begin()) return;
  await bringOutcome(event.id, submissionId, { kind: "not_sent" }, submitCall);
}

/** Returns the call of a submission in the form in which its object stores it. */
export function storedCallOf({
  place,
  call,
  event,
  sent,
  submissionId,
  jobId,
  isHookExpected,
  secrets,
}: SubmissionPlan): StoredCall {
  const { connection, credential, target } = place;
  const connections = event.submission?.queues;
  return {
    taskId: event.id,
    submissionId,
    connection: connection.name,
    model: event.model,
    path: call.path,
    sentPath: sent.path,
    headers: [...sentHeaders(call.headers, target.headers ?? {}, sent)],
    keyHeader: credential && keyHeaderOf(credential),
    jobId,
    isHookExpected,
    storesFiles: target.answer === "result",
    secrets,
    ...(connection.pool?.submitsFailedAgain === true && { isKept: true as const }),
    ...(connections && { queues: { connections, account: event.registration.accountId } }),
  };
}

/** Returns the header with the customer's key, without the key, which the task stores encrypted. */
function keyHeaderOf({ key, headers }: CustomerCredential): StoredCall["keyHeader"] {
  const [[name, value] = ["", ""]] = Object.entries(headers);
  return { name, prefix: value.slice(0, value.lastIndexOf(key)) };
}

async function answerWith(
  task: TaskReply,
  isReplayed: boolean,
  { event }: SubmissionPlan,
  submitCall: SubmitCall,
): Promise<Submitted> {
  const headers = new Headers({
    "Content-Type": "application/json",
    "Preference-Applied": RESPOND_ASYNC,
    "Cache-Control": "no-store",
    ...(!task.isTerminal && { "Retry-After": RETRY_AFTER_S }),
  });
  const statusUrl = await statusUrlOf(event, task, submitCall);
  const body = bytesOf(task.json);
  return { taskId: event.id, status: 202, headers, body, statusUrl, isReplayed };
}

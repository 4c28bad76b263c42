import type { Applied, TaskReply } from "../../objects/task/reply.ts";
import { type CallAnswer, type CancelAnswers, jobCallOf } from "../../providers/job-calls.ts";
import { bytesOf } from "../../security/encoding.ts";
import { operation } from "../operation.ts";
import { cancellationKnown } from "../tasks/cancel-task.ts";
import { type Reading, readingBy } from "../tasks/reading.ts";
import { accepted, taskClient } from "../tasks/task-client.ts";
import {
  ABOUT_JOB,
  type CallAboutJob,
  errorAnswer,
  type JobPlace,
  notServed,
  type JobAnswer,
  questionOf,
  requireJobPlace,
  taskOfJob,
  unknownJob,
} from "./asked-job.ts";
import { readNow } from "./read-job.ts";

/**
 * Outcome of a request to cancel a job:
 * - `done`: the job is canceled, or the upstream has accepted the cancellation.
 * - `ended`: the job had ended before.
 * - `refused`: the upstream cannot cancel the job, or the account may not cancel it.
 * - `unknown`: the upstream has not responded yet, or its response was not understood.
 */
type CancelEnd = "done" | "ended" | "refused" | "unknown";

const MESSAGES: Readonly<Record<Exclude<CancelEnd, "done">, string>> = {
  ended: "The job had ended before it could be canceled. The relay deletes no jobs.",
  refused: "The job cannot be canceled in its present state, or not at all.",
  unknown: "The upstream has not confirmed the cancellation.",
};

/**
 * Cancels a job in response to a call of the upstream's own API, for the operator or the account that has submitted the
 * job. The task is canceled as by `cancelTask`, so that its price is returned once, and the caller gets the response
 * that the upstream documents for such a call.
 */
export const cancelJob = operation(
  "cancelJob",
  {
    access: "cancel",
    rateLimit: "LIMIT_LISTS",
    ...ABOUT_JOB,
  },
  async (call: CallAboutJob): Promise<JobAnswer> => {
    const { body, caller, env } = call;
    const place = await requireJobPlace(call);
    const asked = jobCallOf(place.adapter, body.method, body.path, body.query);
    if (asked?.kind !== "cancel") return notServed(place);
    const { answer, jobId } = asked;
    const taskId = await taskOfJob(place.connection, jobId, env);
    if (taskId === null) return unknownJob(place);
    const question = questionOf(place, body, asked);
    const applied = await taskClient(env, taskId).cancelJob(question, caller);
    if (isUnknown(applied)) return unknownJob(place);
    const end = await endOf(applied, readingBy({ ...call, params: { id: taskId } }));
    if ("read" in answer)
      return await readNow(call, place, taskId, { ...asked, target: answer.read });
    const shown = cancelAnswer(answer, end, jobId, place);
    shown.headers.set("Relay-Task-Id", taskId);
    return shown;
  },
);

function isUnknown(applied: Applied): boolean {
  return applied.kind === "refused" && applied.refusal.code === "unknown_task";
}

/**
 * Returns the outcome of a request to cancel a job, after waiting a short time for the upstream.
 * @throws Problem when the task's object has refused the request for any reason except the state of the job.
 */
async function endOf(applied: Applied, reading: Reading): Promise<CancelEnd> {
  if (applied.kind === "refused") {
    const { refusal } = applied;
    if (refusal.code === "not_cancelable") return "refused";
    if (refusal.code === "task_settled") return endOfTask(refusal.task);
  }
  const { task } = accepted(applied);
  return endOfTask(task.isTerminal ? task : await cancellationKnown(reading));
}

/**
 * Returns the outcome of a request to cancel a job, from the state of its task. It is `done` even when an earlier request
 * has canceled the task, because a client repeats a call whose response it has lost.
 */
function endOfTask({ isTerminal, cancellation }: TaskReply): CancelEnd {
  if (cancellation === "confirmed" || cancellation === "not_sent") return "done";
  if (isTerminal || cancellation === "ended") return "ended";
  if (cancellation === "accepted") return "done";
  return cancellation === "refused" ? "refused" : "unknown";
}

function cancelAnswer(
  { done, ended, refused }: CancelAnswers,
  end: CancelEnd,
  jobId: string,
  { adapter }: JobPlace,
): JobAnswer {
  if (end === "done") return passedAnswer(done(jobId));
  if (end === "ended" && ended !== undefined) return passedAnswer(ended);
  return errorAnswer(adapter, end === "unknown" ? 504 : refused, MESSAGES[end]);
}

function passedAnswer({ status, body }: CallAnswer): JobAnswer {
  const headers = new Headers(body === null ? {} : { "Content-Type": "application/json" });
  return { status, headers, bytes: body === null ? null : bytesOf(JSON.stringify(body)) };
}

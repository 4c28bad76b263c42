import { SECOND_MS, toSeconds } from "../../core/time.ts";
import { errorName, log } from "../../lib/log.ts";
import type { SubmissionReply, TaskReply } from "../../objects/task/reply.ts";
import type { Connection } from "../../providers/provider.ts";
import { bytesOf } from "../../security/encoding.ts";
import { unavailable } from "../http/object-call.ts";
import { Problem } from "../http/problem.ts";
import { submitBaseOf, withRelayLinks } from "../jobs/relay-links.ts";
import { statusUrlFor } from "../tasks/status-url.ts";
import type { Registering, SubmitCall } from "./submission-plan.ts";

/** Header that keeps the SDKs of upstreams from repeating a call. */
export const NOT_AGAIN = { "x-should-retry": "false" };
const REPLAYED = { "Idempotent-Replayed": "true" };

/** Result of a submission, for its caller. */
export interface Submitted {
  readonly taskId: string;
  readonly status: number;
  /** Headers of the upstream's response that are passed on to the caller. */
  readonly headers: Headers;
  /** Body of the upstream's response. A long body is a stream. It is broken off when the caller does not read it. */
  readonly body: Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;
  /**
   * Status link of the task. Null when the upstream has refused the submission, so that the task was erased, or when
   * the link could not be made.
   */
  readonly statusUrl: string | null;
  /** True when an equal call with the same `Idempotency-Key` has already made this submission. */
  readonly isReplayed: boolean;
}

/**
 * Returns the response to a repeated submission, which is the upstream's response to the first one, if it is stored.
 * @throws Problem `task_exists` when it is not stored with the task; `submit_unknown` when the outcome of the submission is unknown.
 */
export async function replayed(
  event: Registering,
  task: TaskReply,
  submission: SubmissionReply | null,
  connection: Connection,
  submitCall: SubmitCall,
): Promise<Submitted> {
  if (submission?.state === "unknown" || submission?.hasUnknownEnd === true) {
    throw await unknownOutcome(event, task, submitCall, true);
  }
  const answer = submission?.answer ?? null;
  if (answer === null) {
    const detail = `The job was submitted already, and this response cannot repeat the upstream's answer. The member task is its task; GET /v1/tasks/${event.id}/answer has the answer if it is kept.`;
    const headers = { ...(await linksOf(event, task, submitCall)), ...REPLAYED, ...NOT_AGAIN };
    throw new Problem("task_exists", { detail, taskJson: task.json, headers });
  }
  const { status, contentType } = answer;
  const body = linkedBody(bytesOf(answer.body), connection, submitCall);
  const headers = new Headers(contentType === null ? {} : { "Content-Type": contentType });
  const statusUrl = await statusUrlOf(event, task, submitCall);
  return { taskId: event.id, status, headers, body, statusUrl, isReplayed: true };
}

/**
 * Returns the body of an upstream's response for the caller, in which links for calls about the job lead to the relay.
 */
export function linkedBody(
  bytes: Uint8Array<ArrayBuffer>,
  connection: Connection,
  { runtime, origin }: Pick<SubmitCall, "runtime" | "origin">,
): Uint8Array<ArrayBuffer> {
  return withRelayLinks(bytes, connection, submitBaseOf(connection, runtime, origin));
}

/**
 * Returns the problem `submit_unknown` for a submission whose outcome is unknown. Its headers tell SDKs not to repeat
 * the call.
 */
export async function unknownOutcome(
  event: Registering,
  task: TaskReply | null,
  submitCall: SubmitCall,
  isReplayed = false,
): Promise<Problem> {
  const links = task === null ? {} : await linksOf(event, task, submitCall);
  return new Problem("submit_unknown", {
    detail: unknownText(task),
    ...(task !== null && { taskJson: task.json }),
    headers: { ...links, ...NOT_AGAIN, ...(isReplayed && REPLAYED) },
  });
}

/**
 * Returns a text that tells the caller what happens to the task of a submission with an unknown outcome.
 * @param task task of the submission; null when it is not known.
 */
function unknownText(task: TaskReply | null): string {
  if (task?.isTerminal === true) {
    return "It is not known whether the upstream has started a job, and the task has ended. Its Idempotency-Key stays with it: a new try needs a new key, and may start a second job.";
  }
  const text = "The upstream may have started a job: do not submit again.";
  if (task?.unknownWait === undefined) return `${text} The task shows what becomes of it.`;
  const { news, until } = task.unknownWait;
  const what =
    news === "hook" ? "a hook that names the job" : "the answer about a job that is known";
  const time = new Date(SECOND_MS * toSeconds(until)).toISOString().replace(".000Z", "Z");
  return `${text} The task waits for ${what} until ${time}, and then fails and is refunded.`;
}

/** Returns the problem for a submission whose call did not reach the upstream, so that SDKs may repeat it. */
export function unreachable(): Problem {
  const detail = "The connection to the upstream could not be opened, so nothing was sent.";
  return unavailable(detail, "upstream_unreachable");
}

/**
 * Returns the headers of a problem that lead to the submission's task. `Relay-Task-Id` is not one of them: only
 * upstreams' responses have it, so that clients can tell a refusal of the upstream from one of the relay.
 */
async function linksOf(
  event: Registering,
  task: TaskReply,
  submitCall: SubmitCall,
): Promise<Readonly<Record<string, string>>> {
  const url = await statusUrlOf(event, task, submitCall);
  return { Location: `/v1/tasks/${event.id}`, ...(url !== null && { "Relay-Status-Url": url }) };
}

/**
 * Returns the status link of a task.
 * @returns null when the relay does not know its own address, or when making the link fails, because such a failure
 * must not hide from the caller that the upstream has accepted the job.
 */
export async function statusUrlOf(
  { id, registration: { deadlineAt } }: Registering,
  { createdAt, recordedAt }: TaskReply,
  { runtime, origin }: SubmitCall,
): Promise<string | null> {
  const deadlineAtS = deadlineAt === null ? null : toSeconds(deadlineAt);
  const linked = { id, createdAtS: toSeconds(createdAt), recordedAt, deadlineAtS };
  try {
    return await statusUrlFor(linked, runtime, origin);
  } catch (error) {
    log({ event: "submission.not_linked", task_id: id, error: errorName(error) }, "error");
    return null;
  }
}

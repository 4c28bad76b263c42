import type { DetailedTaskV2, TaskV2 } from "@modelcontextprotocol/ext-tasks/core/v2";
import type { Config } from "../../config/config.ts";
import { CANCELED_CODE } from "../../core/record/cancellation.ts";
import { SECOND_MS } from "../../core/time.ts";
import type { TaskReply } from "../../objects/task/reply.ts";
import type { Task } from "../shapes/task-shape.ts";
import { taskIn } from "../tasks/task-json.ts";
import { endResult } from "./tool-result.ts";

const MIN_POLL_MS = 2 * SECOND_MS;
const MAX_POLL_MS = 60 * SECOND_MS;

type Times = Pick<Config, "retentionMs" | "pollLateness">;

/** Returns a new task in the form of MCP, for the response to the tool call that has started the task. */
export function startedTaskOf(reply: TaskReply, times: Times): TaskV2 {
  const task = taskIn(reply);
  return { ...factsOf(task, reply, times), status: statusOf(task) };
}

/**
 * Returns a task in the form of MCP, for the response to `tasks/get`. In this form, a task whose job has failed is
 * `completed`, with an error as its result, because MCP reserves the status `failed` for errors of the protocol.
 */
export function detailedTaskOf(reply: TaskReply, times: Times): DetailedTaskV2 {
  const task = taskIn(reply);
  const facts = factsOf(task, reply, times);
  const status = statusOf(task);
  return status === "completed"
    ? { ...facts, status, result: resultOf(task) }
    : { ...facts, status };
}

/**
 * Returns the result of an ended task in the form that the tool call would have returned if it had waited for the end
 * of the task.
 */
function resultOf(task: Task) {
  return JSON.parse(JSON.stringify({ ...endResult(task), resultType: "complete" }));
}

function statusOf(task: Task): "working" | "completed" | "cancelled" {
  if (task.status === "failed")
    return task.error?.code === CANCELED_CODE ? "cancelled" : "completed";
  return task.status === "completed" ? "completed" : "working";
}

/**
 * Returns the members that a task in the form of MCP has in every state. `ttlMs` is the time after which the relay may
 * have erased the task: `RETENTION_DAYS` after its last change or, while it is open, after its deadline.
 */
function factsOf(task: Task, { version }: TaskReply, { retentionMs, pollLateness }: Times) {
  const createdAt = task.created_at * SECOND_MS;
  // The version of a task is the time of its last change, or a little more.
  const changedAt = Math.max(version, createdAt);
  const keptFrom = Math.max((task.deadline_at ?? 0) * SECOND_MS, changedAt);
  const ageMs = Date.now() - createdAt;
  const pollMs = Math.min(Math.max(ageMs * pollLateness, MIN_POLL_MS), MAX_POLL_MS);
  return {
    taskId: task.id,
    statusMessage: messageOf(task),
    createdAt: new Date(createdAt).toISOString(),
    lastUpdatedAt: new Date(changedAt).toISOString(),
    ttlMs: keptFrom + retentionMs - createdAt,
    pollIntervalMs: Math.round(pollMs),
  };
}

function messageOf({ status, error, cancel, submission, progress }: Task): string {
  if (status === "completed") return "The job has completed.";
  if (error !== undefined) return `${error.code}: ${error.message}`;
  if (cancel?.state === "asked") return "The upstream was asked to cancel the job.";
  if (submission?.state === "unknown") {
    return "It is not known whether the upstream has started a job. The task waits for news of it; do not submit it again.";
  }
  if (submission?.state === "queued") {
    const { position } = submission;
    const where = position === undefined ? "" : `, at position ${position} of its queue`;
    return `The call waits to be sent to the upstream${where}.`;
  }
  const percent = progress === undefined ? "" : `: ${progress} %`;
  return `The upstream works on the job${percent}.`;
}

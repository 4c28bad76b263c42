import {
  CHARGING,
  changed,
  conflict,
  type Decision,
  type Note,
  unchanged,
  UNKNOWN_TASK,
} from "./decision.ts";
import { errorCodeOf } from "../record/callback-body.ts";
import type { AttachEvent, HookEvent } from "./event.ts";
import { finishUpstream, TIMEOUT_CODE } from "./finish.ts";
import {
  canPoll,
  firstPoll,
  type KeptHook,
  nudgedPoll,
  type Tracking,
  withKept,
} from "../record/tracking.ts";
import type { Policy } from "../policy.ts";
import { isOpen, isTerminal, nextVersion, type OpenTask, type TaskRecord } from "../record/task.ts";
import { type Job, sameJob, type UpstreamNews } from "../record/upstream.ts";

/** The operator says under which id the upstream works: what hooks said before is judged now. */
export function attach(
  record: TaskRecord | null,
  { connection, job }: AttachEvent,
  policy: Policy,
  now: number,
): Decision {
  if (record === null) return UNKNOWN_TASK;
  if (record.status === "charging") return CHARGING;
  const { upstream } = record;
  if (upstream?.connection === connection && sameJob(upstream.job, job)) return unchanged(record);
  if (isTerminal(record)) return conflict("task_settled", record);
  if (upstream !== null && upstream.connection !== connection) {
    const message = `must be ${upstream.connection}, with which the task was registered`;
    return { kind: "reject", rejection: { code: "invalid_field", field: "/provider", message } };
  }
  const hooks = record.tracking.keptHooks.filter(({ jobId }) => isOf(job, jobId));
  const poll = firstPoll(policy.polls.get(connection), policy, now);
  const attached: OpenTask = {
    ...record,
    version: nextVersion(record, now),
    upstream: { connection, job },
    tracking: { ...record.tracking, poll, keptHooks: [] },
  };
  return hooks.reduce((decision, hook) => judged(decision, hook, policy, now), changed(attached));
}

/**
 * A native hook. What is signed, and what nobody can check, is believed; anything else only has the
 * upstream asked. A hook never conflicts: after the end it changes nothing.
 */
export function takeHook(
  record: TaskRecord | null,
  event: HookEvent,
  policy: Policy,
  now: number,
): Decision {
  if (record === null || record.status === "charging") return UNKNOWN_TASK;
  if (record.upstream?.connection !== event.connection) return UNKNOWN_TASK;
  const { news } = event;
  if (isTerminal(record))
    return unchanged(record, isLate(record, news) ? "late_result" : "ignored");
  const { job } = record.upstream;
  if (job !== null && !isOf(job, event.jobId)) return unchanged(record, "other_job");
  const isAskable = canPoll(record, policy, now);
  return !isAskable || (event.isSigned && news.status !== "no_output")
    ? believed(record, news, policy, now)
    : nudged(record, event, now);
}

/** A success after the deadline had failed the task: it changes nothing, but the operator should know. */
export function isLate(
  record: TaskRecord | null,
  { status }: { readonly status: string },
): boolean {
  if (record === null || !isTerminal(record)) return false;
  const isSuccess = status === "completed" || status === "no_output";
  return isSuccess && errorCodeOf(record.body) === TIMEOUT_CODE;
}

function believed(task: OpenTask, news: UpstreamNews, policy: Policy, now: number): Decision {
  switch (news.status) {
    case "queued":
      return unchanged(task, "ignored");
    case "processing":
      if (task.status === "processing") return unchanged(task, "ignored");
      return changed({ ...task, version: nextVersion(task, now), status: "processing" });
    case "no_output":
    case "completed":
    case "failed":
      return changed(finishUpstream(task, news, policy, now));
  }
}

/** Not believed: the upstream is asked at once, or as soon as it is known under which id. */
function nudged(task: OpenTask, { news, jobId }: HookEvent, now: number): Decision {
  const { tracking } = task;
  if (news.status === "queued" || news.status === task.status) return unchanged(task, "ignored");
  if (tracking.poll === null) {
    const kept = withKept(tracking, { jobId, news });
    return kept === null ? unchanged(task, "ignored") : tracked(task, kept, "kept");
  }
  const isOutputMissing = tracking.poll.isOutputMissing || news.status === "no_output";
  const poll = { ...nudgedPoll(tracking.poll, now), isOutputMissing };
  return tracked(task, { ...tracking, poll }, "nudged");
}

/** The same again is not written again, or anyone with a hook URL could have rows written without end. */
function tracked(task: OpenTask, tracking: Tracking, note: Note): Decision {
  const isKnown = JSON.stringify(tracking) === JSON.stringify(task.tracking);
  return isKnown ? unchanged(task, note) : changed({ ...task, tracking }, note);
}

function judged(decision: Decision, hook: KeptHook, policy: Policy, now: number): Decision {
  if (decision.kind !== "commit" || !isOpen(decision.record)) return decision;
  const task = decision.record;
  if (!canPoll(task, policy, now)) {
    const judgement = believed(task, hook.news, policy, now);
    return judgement.kind === "commit" ? judgement : decision;
  }
  const { tracking } = task;
  const poll = tracking.poll && { ...nudgedPoll(tracking.poll, now), at: now };
  return changed({ ...task, tracking: { ...tracking, poll } });
}

/** A hook that names no job may be about this one: its URL belongs to this task alone. */
function isOf(job: Job, jobId: string | null): boolean {
  return jobId === null || jobId === job.id;
}

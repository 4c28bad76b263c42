import {
  CHARGING,
  changed,
  conflict,
  type Decision,
  invalidField,
  type Note,
  unchanged,
  UNKNOWN_TASK,
} from "./decision.ts";
import type { AttachEvent, HookEvent } from "./event.ts";
import { finishFromNews, TIMEOUT_CODE } from "./finish.ts";
import type { Policy } from "../policy.ts";
import { errorCodeOf } from "../record/callback-body.ts";
import { isOpen, isTerminal, nextVersion, type OpenTask, type TaskRecord } from "../record/task.ts";
import { canPoll, nudge, planFirstPoll } from "../record/poll-plan.ts";
import { keepHook, type KeptHook, type Tracking } from "../record/tracking.ts";
import { type Job, sameJob, type UpstreamNews } from "../record/upstream.ts";

/** Attaches the upstream job, and applies the hooks about this job that arrived before. */
export function attach(
  record: TaskRecord | null,
  { connection, job, keyName }: AttachEvent,
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
    return invalidField("/provider", message);
  }
  const hooks = record.tracking.keptHooks.filter(({ jobId }) => isAbout(job, jobId));
  const poll = planFirstPoll(policy.polls.get(connection), policy, now);
  const attached: OpenTask = {
    ...record,
    version: nextVersion(record, now),
    upstream: { connection, job },
    keyNames: { ...record.keyNames, attachedBy: keyName },
    tracking: { ...record.tracking, poll, keptHooks: [] },
  };
  const first = changed(attached);
  return hooks.reduce((decision, hook) => applyKeptHook(decision, hook, policy, now), first);
}

/**
 * Handles a provider hook. A signed hook, or one whose provider cannot be polled, is applied; any other hook
 * only brings the next poll forward, or is kept until a job is attached. No hook is refused as a conflict:
 * one that arrives after the end of the task is ignored.
 */
export function applyHook(
  record: TaskRecord | null,
  event: HookEvent,
  policy: Policy,
  now: number,
): Decision {
  if (record === null || record.status === "charging") return UNKNOWN_TASK;
  if (record.upstream?.connection !== event.connection) return UNKNOWN_TASK;
  const { news } = event;
  if (isTerminal(record)) {
    return unchanged(record, isLateSuccess(record, news) ? "late_result" : "ignored");
  }
  const { job } = record.upstream;
  if (job !== null && !isAbout(job, event.jobId)) return unchanged(record, "other_job");
  const isPollable = canPoll(record, policy, now);
  return !isPollable || (event.isSigned && news.status !== "no_output")
    ? applyNews(record, news, policy, now)
    : nudgeOrKeep(record, event, now);
}

/**
 * Tells whether news reports the success of a task that has failed at its deadline already. Such news is only
 * logged; the task stays failed.
 */
export function isLateSuccess(
  record: TaskRecord | null,
  { status }: { readonly status: string },
): boolean {
  if (record === null || !isTerminal(record)) return false;
  const isSuccess = status === "completed" || status === "no_output";
  return isSuccess && errorCodeOf(record.body) === TIMEOUT_CODE;
}

function applyNews(task: OpenTask, news: UpstreamNews, policy: Policy, now: number): Decision {
  switch (news.status) {
    case "queued":
      return unchanged(task, "ignored");
    case "processing":
      if (task.status === "processing") return unchanged(task, "ignored");
      return changed({ ...task, version: nextVersion(task, now), status: "processing" });
    case "no_output":
    case "completed":
    case "failed":
      return changed(finishFromNews(task, news, policy, now));
  }
}

/**
 * Handles a hook that may not change the status of the task, because no signature proves its body or it
 * reports success without output: brings the next poll forward, or keeps the hook until a job is attached to
 * the task. A hook that reports nothing new is ignored.
 */
function nudgeOrKeep(task: OpenTask, { news, jobId }: HookEvent, now: number): Decision {
  const { tracking } = task;
  if (news.status === "queued" || news.status === task.status) return unchanged(task, "ignored");
  if (tracking.poll === null) {
    const kept = keepHook(tracking, { jobId, news });
    return kept === null ? unchanged(task, "ignored") : changeTracking(task, kept, "kept");
  }
  const isOutputMissing = tracking.poll.isOutputMissing || news.status === "no_output";
  const poll = { ...nudge(tracking.poll, now), isOutputMissing };
  return changeTracking(task, { ...tracking, poll }, "nudged");
}

/**
 * Stores the changed plan of polls and kept hooks of a task. A repeated hook changes nothing, because each
 * write to the storage costs money.
 */
function changeTracking(task: OpenTask, tracking: Tracking, note: Note): Decision {
  const isSame = JSON.stringify(tracking) === JSON.stringify(task.tracking);
  return isSame ? unchanged(task, note) : changed({ ...task, tracking }, note);
}

/**
 * Applies a hook that was kept because it arrived before its job was attached: brings the next poll
 * forward, or, when the job cannot be polled, applies the news of the hook.
 */
function applyKeptHook(
  decision: Decision,
  { news }: KeptHook,
  policy: Policy,
  now: number,
): Decision {
  if (decision.kind !== "changed" || !isOpen(decision.record)) return decision;
  const task = decision.record;
  if (!canPoll(task, policy, now)) {
    const next = applyNews(task, news, policy, now);
    return next.kind === "changed" ? next : decision;
  }
  const { tracking } = task;
  const poll = tracking.poll && nudge(tracking.poll, now);
  return changed({ ...task, tracking: { ...tracking, poll } });
}

/**
 * Tells whether a hook is about `job`. A hook without a job id counts as being about it, because the URL of
 * the hook belongs to this task alone.
 */
function isAbout(job: Job, jobId: string | null): boolean {
  return jobId === null || jobId === job.id;
}

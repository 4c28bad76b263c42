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
import { canPoll, hear, hint, planPolls, type PollPlan } from "../record/poll-plan.ts";
import {
  isOpen,
  isTerminal,
  nextVersion,
  type OpenTask,
  type TaskRecord,
  type TerminalTask,
} from "../record/task.ts";
import { keepHook } from "../record/tracking.ts";
import { type Job, sameJob, type UpstreamNews } from "../record/upstream.ts";

/** Attaches the upstream job, and applies the hooks about this job that arrived before. */
export function attach(
  record: TaskRecord | null,
  { connection, job, expectation, keyName }: AttachEvent,
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
  const poll = planPolls(expectation, policy.polls.get(connection), now);
  const attached: OpenTask = {
    ...record,
    version: nextVersion(record, now),
    upstream: { connection, job },
    keyNames: { ...record.keyNames, attachedBy: keyName },
    tracking: { ...record.tracking, poll, keptHooks: [] },
  };
  return changed(
    hooks.reduce<TaskRecord>((task, { news }) => {
      return isOpen(task) ? withNews(task, news, false, policy, now) : task;
    }, attached),
  );
}

/**
 * Handles a provider hook. A hook that claims the end of the job ends the task when it is signed, or when its
 * provider cannot be polled; otherwise the job is polled at once, or the hook is kept until a job is
 * attached. A hook that says queued or running moves the next poll. No hook is refused as a conflict: one
 * that arrives after the end of the task is ignored.
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
  const task = withNews(record, news, event.isSigned, policy, now);
  if (isTerminal(task)) return changed(task);
  const kept = keptFor(task, event, canPoll(record, policy, now));
  return kept === record ? unchanged(record, "ignored") : changed(kept, noteOf(kept, news));
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

/**
 * Applies the news of a hook to a task. Returns the same record when the hook repeats what is known, because
 * each write to the storage costs money.
 */
function withNews(
  task: OpenTask,
  news: UpstreamNews,
  isSigned: boolean,
  policy: Policy,
  now: number,
): OpenTask | TerminalTask {
  const isPollable = canPoll(task, policy, now);
  switch (news.status) {
    case "queued":
      return isPollable ? withPlan(task, (plan) => hear(plan, "queued", now)) : task;
    case "processing": {
      const next = isPollable ? withPlan(task, (plan) => hear(plan, "processing", now)) : task;
      if (task.status === "processing") return next;
      return { ...next, version: nextVersion(task, now), status: "processing" };
    }
    case "no_output":
    case "completed":
    case "failed":
      return !isPollable || (isSigned && news.status !== "no_output")
        ? finishFromNews(task, news, "hook", policy, now)
        : withPlan(task, (plan) => hint(plan, news.status, policy, now));
  }
}

function withPlan(task: OpenTask, change: (plan: PollPlan) => PollPlan): OpenTask {
  const { poll } = task.tracking;
  const next = poll === null ? null : change(poll);
  return next === poll ? task : { ...task, tracking: { ...task.tracking, poll: next } };
}

/**
 * Keeps a hook with a task that has no job yet, until its job is attached. Returns the same record when the
 * hook is kept already, is too large to keep, or reports that a task that cannot be polled is in progress.
 */
function keptFor(task: OpenTask, { jobId, news }: HookEvent, isPollable: boolean): OpenTask {
  if (task.tracking.poll !== null || !isPollable) return task;
  const tracking = keepHook(task.tracking, { jobId, news });
  const isKnown = JSON.stringify(tracking) === JSON.stringify(task.tracking);
  return tracking === null || isKnown ? task : { ...task, tracking };
}

/** Returns what happened to a hook, for the log; undefined when its news was recorded. */
function noteOf({ tracking }: OpenTask, { status }: UpstreamNews): Note | undefined {
  if (status === "queued" || status === "processing") return undefined;
  return tracking.poll === null ? "kept" : "nudged";
}

/**
 * Tells whether a hook is about `job`. A hook without a job id counts as being about it, because the URL of
 * the hook belongs to this task alone.
 */
function isAbout(job: Job, jobId: string | null): boolean {
  return jobId === null || jobId === job.id;
}

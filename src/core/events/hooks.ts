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
import { finishFromNews } from "./finish.ts";
import { submittedAgain } from "./submit-again.ts";
import { applyLateHook } from "./late-results.ts";
import type { Policy } from "../policy.ts";
import { canPoll, hear, hint, planPolls } from "../polls/next-poll.ts";
import { limitsOf } from "../polls/task-poll-limits.ts";
import { cancellationOfNewJob } from "../record/cancellation.ts";
import { hasCustomerKey } from "../record/customer-key.ts";
import { mayBeOfFailedJob } from "../record/failed-job.ts";
import type { PollPlan } from "../record/poll-plan.ts";
import {
  addressedName,
  type CreatedTask,
  isOpen,
  isTerminal,
  nextVersion,
  type OpenTask,
  type TaskRecord,
  type TerminalTask,
} from "../record/task.ts";
import {
  askedSoon,
  isSending,
  isStoringResult,
  unknownOutcomeOf,
  withJobKnown,
} from "../record/submission.ts";
import {
  keepHook,
  keptJobIds,
  type KeptHook,
  noteRefusedHook,
  type UnreadHook,
} from "../record/tracking.ts";
import {
  asUnproven,
  type AttachedJob,
  isAbout,
  type Job,
  sameJob,
  type UpstreamNews,
} from "../record/upstream.ts";

/** Attaches the job that the caller of the API names, and applies the hooks about this job that arrived before. */
export function attach(
  record: TaskRecord | null,
  { connection, job, isHookExpected, keyName }: AttachEvent,
  policy: Policy,
  now: number,
): Decision {
  if (record === null) return UNKNOWN_TASK;
  if (record.status === "charging") return CHARGING;
  const { upstream } = record;
  if (upstream?.connection === connection && sameJob(upstream.job, job)) return unchanged(record);
  if (isTerminal(record)) return conflict("task_settled", record);
  // The copies of the job's outputs would have the keys of the files that the call stores.
  if (isStoringResult(record.submission)) return conflict("submission_running", record);
  if (upstream !== null && upstream.connection !== connection) {
    const message = `must be ${upstream.connection}, with which the task was registered`;
    return invalidField("/provider", message);
  }
  const known = { ...record, keyNames: { ...record.keyNames, attachedBy: keyName } };
  return changed(attachWithHooks(known, { connection, job }, isHookExpected, policy, now));
}

/**
 * Attaches a job, plans its polls, and removes the hooks that were stored while no job was attached. If the call of the
 * task still waits to be sent, it is never sent.
 */
export function attachJob(
  record: OpenTask,
  upstream: AttachedJob,
  isHookExpected: boolean,
  policy: Policy,
  now: number,
): OpenTask {
  const limits = limitsOf({ ...record, upstream }, policy);
  const poll = planPolls(isHookExpected, limits, now);
  const tracking = { ...record.tracking, poll, keptHooks: [] };
  const submission = withJobKnown(record.submission);
  const cancellation = cancellationOfNewJob(record.cancellation, now);
  const version = nextVersion(record, now);
  return { ...record, version, upstream, tracking, submission, cancellation };
}

/** Attaches a job, and applies the hooks about this job that arrived before. */
export function attachWithHooks(
  record: OpenTask,
  upstream: AttachedJob,
  isHookExpected: boolean,
  policy: Policy,
  now: number,
): OpenTask | TerminalTask {
  const { job } = upstream;
  const hooks = record.tracking.keptHooks.filter(({ jobId }) => isAbout(job, jobId));
  return withHooks(hooks, attachJob(record, upstream, isHookExpected, policy, now), policy, now);
}

/**
 * Attaches the job that a signed hook names if the task has none: the upstream's answer to the submission may have been
 * lost, and nobody could then attach the job. Returns the same record when a job is attached already, when the hook is
 * unsigned or names no job, and when the job could not be polled: neither by its id alone nor, for a job that the relay
 * has submitted, with the endpoint of the submission.
 */
function withProvenJob(
  task: OpenTask,
  event: HookEvent,
  policy: Policy,
  now: number,
): OpenTask | TerminalTask {
  const { jobId: id, isSigned } = event;
  if (!isSigned || id === null || task.upstream?.job !== null) return task;
  const { connection } = task.upstream;
  const endpoint = task.submission?.endpoint ?? null;
  const isNamed = endpoint !== null || limitsOf(task, policy)?.isIdEnough === true;
  if (!isNamed || !canPoll(task, policy, now)) return task;
  const job: Job = { id, endpoint };
  const earlier = task.tracking.keptHooks.filter(({ jobId }) => isAbout(job, jobId));
  // As this hook has reached the relay, a hook is expected to report the end of the job too.
  const attached = attachJob(task, { connection, job }, true, policy, now);
  return withHooks([...earlier, keptHookOf(event)], attached, policy, now);
}

/**
 * Applies the hooks about a job that arrived before it was attached to the task. They count as unverified: a hook that
 * claims the end of the job ends the task if its provider cannot be polled; otherwise it causes a poll.
 */
function withHooks(
  hooks: readonly KeptHook[],
  attached: OpenTask,
  policy: Policy,
  now: number,
): OpenTask | TerminalTask {
  const isPollable = canPoll(attached, policy, now);
  const told = hooks.filter(({ unread }) => isPollable || unread === undefined);
  return told.reduce<OpenTask | TerminalTask>((task, { news }) => {
    return isOpen(task) ? withNews(task, news, false, policy, now) : task;
  }, attached);
}

/**
 * Handles a hook of a provider. A hook that claims the end of the job ends the task when its provider cannot be polled.
 * It also ends the task when it is signed, unless it claims success without output. Otherwise the job is polled at
 * once, or the hook is stored until a job is attached. The first hook that says that the job is running sets a new time
 * for the next poll; one that says that the job is queued changes nothing once a job is attached. A hook that is not
 * understood is handled as one that claims the end of the job, but never ends the task itself. A hook that arrives
 * after the end of the task does not change its result, and is accepted nevertheless.
 */
export function applyHook(
  record: TaskRecord | null,
  hook: HookEvent,
  policy: Policy,
  now: number,
): Decision {
  if (record === null || !isHookOf(record, hook)) return UNKNOWN_TASK;
  const event = trustedHook(record, hook);
  if (isOpen(record)) return applyToOpen(record, event, policy, now);
  return event.unread === undefined
    ? applyLateHook(record, event, policy, now)
    : unchanged(record, "ignored");
}

/** Handles a hook about an open task. */
function applyToOpen(record: OpenTask, hook: HookEvent, policy: Policy, now: number): Decision {
  const job = record.upstream?.job ?? null;
  if (job !== null && !isAbout(job, hook.jobId)) return unchanged(record, "other_job");
  const event = ofPresentJob(record, hook, policy, now);
  if (event === null) return unchanged(record, "ignored");
  const { news, unread, isSigned } = event;
  if (unread !== undefined && !canPoll(record, policy, now)) {
    return refuseUnread(record, unread, now);
  }
  const again = isSigned ? submittedAgain(record, news, "hook", policy, now) : null;
  const task = again ?? withNews(record, news, isSigned, policy, now);
  if (again !== null || isTerminal(task)) return changed(task);
  return attachOrKeep(record, task, event, policy, now);
}

/**
 * Returns a hook as it is about the present job of a task. One that may be about an earlier job, which has failed at
 * another member of the pool, counts as unsigned, so that a poll follows. Null when no poll can show what it is about.
 */
function ofPresentJob(
  record: OpenTask,
  hook: HookEvent,
  policy: Policy,
  now: number,
): HookEvent | null {
  if (!mayBeOfFailedJob(record.submission, hook.jobId)) return hook;
  const isPolled = record.upstream?.job != null && canPoll(record, policy, now);
  return isPolled ? { ...hook, isSigned: false } : null;
}

/** Attaches the job that a hook names to a task that has none, or stores the hook until a job is attached. */
function attachOrKeep(
  record: OpenTask,
  task: OpenTask,
  event: HookEvent,
  policy: Policy,
  now: number,
): Decision {
  const attached = withProvenJob(task, event, policy, now);
  if (attached !== task) return changed({ ...attached, version: nextVersion(record, now) });
  const kept = askedForKept(
    task,
    withKeptHook(task, event, canPoll(record, policy, now), now),
    now,
  );
  if (kept === record) return unchanged(record, "ignored");
  const isShown = keptJobIds(kept.tracking).join() !== keptJobIds(record.tracking).join();
  const version = isShown ? nextVersion(record, now) : kept.version;
  return changed({ ...kept, version }, noteOf(kept, event.news));
}

/**
 * Returns the effect of a hook that is not understood when the job cannot be polled to find out what the hook means:
 * the reason why it is not understood is stored in the record.
 */
function refuseUnread(record: OpenTask, reason: UnreadHook, now: number): Decision {
  const tracking = noteRefusedHook(record.tracking, reason, now);
  return tracking === record.tracking
    ? unchanged(record, "ignored")
    : changed({ ...record, tracking }, "ignored");
}

/**
 * Tells whether a hook is about this task and its present submission. A hook that came to the hook URL of another
 * connection or of another submission is not: it is about an earlier task with the same id, or its URL is known to
 * others than the upstream.
 */
function isHookOf(record: TaskRecord, event: HookEvent): record is CreatedTask {
  if (record.status === "charging" || record.upstream === null) return false;
  const { submission, upstream } = record;
  return (
    addressedName(record, upstream) === event.connection && submission?.id === event.submissionId
  );
}

/**
 * Returns the hook. If its job was submitted with a customer's key, the hook is marked as unsigned, because the
 * customer's account at the upstream signs with a secret that the relay does not know.
 */
function trustedHook(record: CreatedTask, hook: HookEvent): HookEvent {
  return hasCustomerKey(record) ? { ...hook, isSigned: false } : hook;
}

/**
 * Applies to a task the state of the job that a hook reports. Returns the same record when the hook reports nothing
 * new, because each write to the storage costs money.
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
      return task;
    case "processing": {
      const next = isPollable ? withPlan(task, (plan) => hear(plan, now)) : task;
      if (task.status === "processing") return next;
      return { ...next, version: nextVersion(task, now), status: "processing" };
    }
    case "no_output":
    case "completed":
    case "failed":
      return !isPollable || (isSigned && news.status !== "no_output")
        ? finishFromNews(task, isSigned ? news : asUnproven(news), "hook", policy, now)
        : withPlan(task, (plan) => hint(plan, news.status, policy, now));
  }
}

function withPlan(task: OpenTask, change: (plan: PollPlan) => PollPlan): OpenTask {
  const { poll } = task.tracking;
  const next = poll === null ? null : change(poll);
  return next === poll ? task : { ...task, tracking: { ...task.tracking, poll: next } };
}

/**
 * Stores a hook in a task that has no job yet, until a job is attached. If none is attached, the job that the hook
 * names is polled before the task ends (duties/ask-kept-job.ts). The same record is returned when the hook is not
 * stored:
 * - The same hook is stored already.
 * - The hook is too large.
 * - The hook comes after the last time at which jobs named by stored hooks are polled.
 * - The hook only says that the job is in progress, and the task cannot be polled.
 */
function withKeptHook(
  task: OpenTask,
  event: HookEvent,
  isPollable: boolean,
  now: number,
): OpenTask {
  if (task.tracking.poll !== null || !isPollable || !canAskLater(task, now)) return task;
  const tracking = keepHook(task.tracking, keptHookOf(event));
  const isKnown = JSON.stringify(tracking) === JSON.stringify(task.tracking);
  return tracking === null || isKnown ? task : { ...task, tracking };
}

function keptHookOf({ jobId, news, unread }: HookEvent): KeptHook {
  return unread === undefined ? { jobId, news } : { jobId, news, unread };
}

/**
 * Tells whether the job that a hook names now can still be polled: until the deadline or, while it is not known whether
 * the submission has started a job, until the task fails for that reason.
 */
function canAskLater({ submission, deadlineAt }: OpenTask, now: number): boolean {
  return isSending(submission) || now < (unknownOutcomeOf(submission)?.failsAt ?? deadlineAt);
}

/**
 * Returns the task after a hook was stored. If the outcome of the task's submission is unknown, the job that the hook
 * names is polled at once, because the answer may show that the submission has started this job.
 */
function askedForKept(before: OpenTask, kept: OpenTask, now: number): OpenTask {
  const unknown = unknownOutcomeOf(kept.submission);
  const isNamed = keptJobIds(kept.tracking).length > 0;
  if (kept === before || kept.submission === null || unknown === null || !isNamed) return kept;
  return { ...kept, submission: { ...kept.submission, state: askedSoon(unknown, now) } };
}

/**
 * Returns the effect of a hook on the task in one word, for the log: `kept` when the hook is stored until a job is
 * attached, `nudged` when it causes a poll. Undefined when the hook says only that the job is queued or running.
 */
function noteOf({ tracking }: OpenTask, { status }: UpstreamNews): Note | undefined {
  if (status === "queued" || status === "processing") return undefined;
  return tracking.poll === null ? "kept" : "nudged";
}

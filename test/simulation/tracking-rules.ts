import { isOpen, type OpenTask } from "../../src/core/record/task.ts";
import type { PollPlan } from "../../src/core/record/poll-plan.ts";
import { MINUTE } from "../core/builders.ts";
import { type Answer, type Change, isEqual, firstViolation } from "./change.ts";
import { endResultOf, isOversized, isPollable, isProven, isResponsive } from "./end-rules.ts";
import type { OutsideEvent } from "./moves.ts";
import { endTime } from "./poll-times.ts";

type Attachment = Extract<OutsideEvent, { readonly type: "attach" }>;
type Hook = Extract<OutsideEvent, { readonly type: "hook" }>;

const HOOKS_KEPT = 8;

/** Checks promise 6 for a poll without a final answer that changed the task. */
export function pollFault(change: Change<OpenTask, OpenTask>): string | null {
  const { before, after, now, setting, pollResult } = change;
  const { poll: plan } = before.tracking;
  const { poll: next } = after.tracking;
  if (pollResult === null || plan === null || next === null || setting.limits === null) return null;
  const { answer, askedAt } = pollResult;
  const isHinted = plan.hint !== null && plan.hint.at >= askedAt;
  const isPutOff = before.deadlineAt !== after.deadlineAt;
  const isCanceling = before.cancellation?.endsAt !== after.cancellation?.endsAt;
  const isProgress = answer.kind === "news" && answer.news.status === "processing";
  const waitMs = "retryAfterMs" in answer ? (answer.retryAfterMs ?? 0) : 0;
  const isDecided = askedAt < endTime(before) || isPutOff || endTime(after) > now;
  const kind = answer.kind === "news" ? answer.news.status : answer.kind;
  return firstViolation({
    "reported progress is shown": !isProgress || after.status === "processing",
    "the poll after the deadline decides": isDecided,
    "a missing answer does not extend the deadline": !isPutOff || isHinted || isResponsive(answer),
    "the limit of a provider is kept":
      next.notBefore === Math.max(plan.notBefore, waitMs === 0 ? 0 : now + waitMs),
    "the kind of an answer is stored with the time of its first answer":
      isEqual(factsOf(next), factsOf(plan)) ||
      (next.answer?.kind === kind && next.answer.since === now && plan.answer?.kind !== kind),
    "an answer without news is not stored":
      !isEqual([next, before.status, before.notices], [plan, after.status, after.notices]) ||
      isPutOff ||
      isCanceling,
  });
}

/**
 * Returns the facts of the stored answer, in a fixed order, because a reload may change the order of its
 * fields.
 */
function factsOf({ answer }: PollPlan): readonly unknown[] {
  return [answer?.kind, answer?.since, answer?.statusCode, answer?.word];
}

/** Checks the poll plan and the kept hooks after an attachment or a hook that does not end the task. */
export function trackedFault(
  { event, after, setting, now }: Answer,
  before: OpenTask,
): string | null {
  if (after === null || !isOpen(after)) return null;
  if (event.type === "attach") return attachFault(event, before, after, { setting, now });
  if (event.type !== "hook" || before.upstream?.connection !== event.connection) return null;
  if (before.submission?.id !== event.submissionId) return null;
  const { job } = before.upstream;
  const isOwn = job === null || event.jobId === null || event.jobId === job.id;
  if (!isOwn || !isPollable(before, setting, now)) return null;
  const { poll } = before.tracking;
  return poll === null
    ? keptFault(event, before, after, { setting, now })
    : movedFault(event, poll, after, now);
}

function attachFault(
  { job }: Attachment,
  before: OpenTask,
  after: OpenTask,
  { setting, now }: Pick<Answer, "setting" | "now">,
): string | null {
  if (isEqual(before.upstream, after.upstream)) return null;
  const { keptHooks, isExtended } = before.tracking;
  const kept = keptHooks.filter(({ jobId }) => jobId === null || jobId === job.id);
  const claims = kept.filter(({ news }) => endResultOf(news) !== null);
  const isRunning = kept.some(({ news }) => news.status === "processing");
  const isAsked = isPollable(after, setting, now);
  const understood = claims.filter(({ unread }) => unread === undefined);
  const { poll } = after.tracking;
  return firstViolation({
    "kept hooks count where the upstream cannot be polled": isAsked || understood.length === 0,
    "an attachment plans polls from now on": poll?.attachedAt === now,
    "a kept hook that claims the end causes a poll at once":
      !isAsked || claims.length > 0 === (poll?.hint?.at ?? Infinity) <= now + 1,
    "a kept hook that says running moves the polls":
      !isAsked || isRunning === (poll?.hasHeardRunning ?? false),
    "a deadline is extended once": after.tracking.isExtended === isExtended,
  });
}

/** Returns the time from which on no hook is kept, because the job that it names would not be polled any more. */
function lastTime({ submission, deadlineAt }: OpenTask): number {
  const state = submission?.state ?? null;
  if (state?.kind === "sending") return Infinity;
  return state?.kind === "unknown" ? state.failsAt : deadlineAt;
}

/** Checks that the last hook of each job and status is stored until the job is known. */
function keptFault(
  hook: Hook,
  before: OpenTask,
  after: OpenTask,
  { setting, now }: Pick<Answer, "setting" | "now">,
): string | null {
  const { jobId, news, unread } = hook;
  const isSigned = isProven(before, hook);
  const isApplied = isSigned && news.status !== "no_output" && endResultOf(news) !== null;
  if (isApplied) return null;
  const endpoint = before.submission?.endpoint ?? null;
  if (isSigned && jobId !== null && (endpoint !== null || setting.limits?.isIdEnough === true)) {
    const isAttached =
      isEqual(after.upstream?.job, { id: jobId, endpoint }) &&
      after.tracking.keptHooks.length === 0;
    return firstViolation({ "a signed hook attaches the job that it names": isAttached });
  }
  if (now >= lastTime(before)) return null;
  const others = before.tracking.keptHooks.filter(
    (one) => one.jobId !== jobId || one.news.status !== news.status,
  );
  const kept = [...others, { jobId, news, ...(unread && { unread }) }].slice(-HOOKS_KEPT);
  const isKept = isOversized(news)
    ? isEqual(after.tracking, before.tracking)
    : isEqual(after.tracking.keptHooks, kept);
  const state = after.submission?.state ?? null;
  const isNews = !isEqual(before.tracking, after.tracking);
  const isAsked = state?.kind !== "unknown" || (state.askAt ?? Infinity) <= now;
  return firstViolation({
    "a hook that comes before its job is kept unless it is too large": isKept,
    "a job that a hook names after an unknown outcome is asked for at once":
      !isNews || jobId === null || isAsked,
  });
}

/** Checks that a hook of the attached job changes the times of the polls as its news demands. */
function movedFault(
  { news }: Hook,
  plan: PollPlan,
  { tracking }: OpenTask,
  now: number,
): string | null {
  const { poll } = tracking;
  if (poll === null) return "a hook leaves the plan of polls";
  if (news.status === "queued") {
    return firstViolation({ "a hook that says queued stores nothing": isEqual(poll, plan) });
  }
  if (news.status === "processing") {
    const isFirst = !plan.hasHeardRunning;
    return firstViolation({
      "only the first hook that says running moves the next poll":
        poll.postponedTo === (isFirst ? now + 2 * MINUTE : plan.postponedTo),
      "a hook that says running is no claim of the end": isEqual(poll.hint, plan.hint),
    });
  }
  const isAskedSoon = poll.hint !== null && now - poll.hint.at < 15_000;
  const isLimited = plan.notBefore > now && poll.hint !== null;
  return firstViolation({
    "a claim of the end causes a poll within 15 s": isAskedSoon || isLimited,
    "a claim of the end does not move other polls": poll.postponedTo === plan.postponedTo,
  });
}

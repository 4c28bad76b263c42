import { isOpen, type OpenTask } from "../../src/core/record/task.ts";
import type { PollPlan } from "../../src/core/record/poll-plan.ts";
import { MINUTE } from "../core/builders.ts";
import { type Answer, type Change, isEqual, firstViolation } from "./change.ts";
import {
  endResultOf,
  isOversized,
  isPollable,
  isResponsive,
  isWithoutOutput,
} from "./end-rules.ts";
import type { OutsideEvent } from "./moves.ts";

type Attachment = Extract<OutsideEvent, { readonly type: "attach" }>;
type Hook = Extract<OutsideEvent, { readonly type: "hook" }>;

const HOOKS_KEPT = 8;
const MAX_WAIT_MS = 5 * MINUTE;

/** Checks promise 6 for a poll without a final answer: the time of the next poll. */
export function pollFault(change: Change<OpenTask, OpenTask>): string | null {
  const { before, after, now, setting, history, pollResult } = change;
  const { poll: plan } = before.tracking;
  const { poll: next } = after.tracking;
  if (pollResult === null || plan === null || next === null || setting.limits === null) return null;
  const { answer, nudges } = pollResult;
  const { firstMs, gapMs } = setting.limits;
  const isNudged = plan.nudges !== nudges;
  const leastMs = Math.max(gapMs, answer.kind === "limited" ? (answer.retryAfterMs ?? 0) : 0);
  const usualMs = Math.min(firstMs * 2 ** (plan.tries + 1), MAX_WAIT_MS);
  const waitMs = isNudged || isWithoutOutput(answer) ? leastMs : Math.max(usualMs, leastMs);
  const isPutOff = before.deadlineAt !== after.deadlineAt;
  const isProgress = answer.kind === "news" && answer.news.status === "processing";
  return firstViolation({
    "reported progress is shown": !isProgress || after.status === "processing",
    "the poll after the deadline decides": history.polledAt < before.deadlineAt || isPutOff,
    "a missing answer does not extend the deadline": !isPutOff || isNudged || isResponsive(answer),
    "success without output is polled once more, not twice":
      !isWithoutOutput(answer) || !plan.isOutputMissing,
    "the limit of a provider is kept": next.notBefore === now + leastMs,
    "waits between polls double, up to 5 minutes": next.at === now + waitMs,
  });
}

/** Checks the poll plan and the kept hooks after an attachment or a hook that does not end the task. */
export function trackedFault(
  { event, after, setting, now }: Answer,
  before: OpenTask,
): string | null {
  if (after === null || !isOpen(after)) return null;
  if (event.type === "attach") return attachFault(event, before, after, { setting, now });
  if (event.type !== "hook" || before.upstream?.connection !== event.connection) return null;
  const { job } = before.upstream;
  const isOwn = job === null || event.jobId === null || event.jobId === job.id;
  const isNews = event.news.status !== "queued" && event.news.status !== before.status;
  const isAsked = isPollable(before, setting, now);
  const isBelieved = event.isSigned && event.news.status !== "no_output";
  if (!isOwn || !isNews || !isAsked || isBelieved) return null;
  const { poll } = before.tracking;
  return poll === null ? keptFault(event, before, after) : nudgeFault(poll, after, now);
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
  const isAsked = isPollable(after, setting, now);
  const { poll } = after.tracking;
  const askedAt = kept.length > 0 ? now : now + (setting.limits?.firstMs ?? 0);
  return firstViolation({
    "kept hooks count where the upstream cannot be polled":
      isAsked || kept.every(({ news }) => endResultOf(news) === null),
    "an attachment plans a poll": !isAsked || poll?.at === askedAt,
    "a deadline is extended once": after.tracking.isExtended === isExtended,
  });
}

/** Checks that the last hook of each job and status is kept until the job is known. */
function keptFault({ jobId, news }: Hook, before: OpenTask, after: OpenTask): string | null {
  const others = before.tracking.keptHooks.filter(
    (hook) => hook.jobId !== jobId || hook.news.status !== news.status,
  );
  const kept = [...others, { jobId, news }].slice(-HOOKS_KEPT);
  const isKept = isOversized(news)
    ? isEqual(after.tracking, before.tracking)
    : isEqual(after.tracking.keptHooks, kept);
  return firstViolation({
    "a hook that comes before its job is kept unless it is too large": isKept,
  });
}

function nudgeFault(plan: PollPlan, { tracking }: OpenTask, now: number): string | null {
  const { at, nudges } = tracking.poll ?? { at: Infinity, nudges: 0 };
  return firstViolation({
    "a nudge polls at once": at <= Math.max(now, plan.notBefore),
    "a nudge leads to another poll than the running one": nudges > plan.nudges || plan.at > now,
  });
}

import { isOpen, type OpenTask } from "../../src/core/record/task.ts";
import type { PollPlan } from "../../src/core/record/tracking.ts";
import { MINUTE } from "../core/builders.ts";
import type { Answer } from "./answer.ts";
import { type Change, isEqual, firstViolation } from "./change.ts";
import { factOf, isAskable, isSpoken, isWithoutOutput } from "./end-rules.ts";
import type { OutsideEvent } from "./moves.ts";

type Attachment = Extract<OutsideEvent, { readonly type: "attach" }>;
type Hook = Extract<OutsideEvent, { readonly type: "hook" }>;

const HOOKS_KEPT = 8;
const MAX_WAIT_MS = 5 * MINUTE;

/** Promise 6 for a poll that has told nothing final: when the upstream is asked again. */
export function pollFault(change: Change<OpenTask, OpenTask>): string | null {
  const { before, after, now, setting, history, heard } = change;
  const { poll: plan } = before.tracking;
  const { poll: next } = after.tracking;
  if (heard === null || plan === null || next === null || setting.limits === null) return null;
  const { answer, nudges } = heard;
  const { firstMs, gapMs } = setting.limits;
  const isNudged = plan.nudges !== nudges;
  const leastMs = Math.max(gapMs, answer.kind === "limited" ? (answer.retryAfterMs ?? 0) : 0);
  const usualMs = Math.min(firstMs * 2 ** (plan.tries + 1), MAX_WAIT_MS);
  const waitMs = isNudged || isWithoutOutput(answer) ? leastMs : Math.max(usualMs, leastMs);
  const isPutOff = before.deadlineAt !== after.deadlineAt;
  const isProgress = answer.kind === "news" && answer.news.status === "processing";
  return firstViolation(
    ["work that has begun is shown", !isProgress || after.status === "processing"],
    ["the poll after the deadline decides", history.polledAt < before.deadlineAt || isPutOff],
    ["silence puts no deadline off", !isPutOff || isNudged || isSpoken(answer)],
    [
      "success without output is asked after once more, not twice",
      !isWithoutOutput(answer) || !plan.isOutputMissing,
    ],
    ["an upstream is left alone for as long as it wants", next.notBefore === now + leastMs],
    ["waits between polls double, up to 5 minutes", next.at === now + waitMs],
  );
}

/** What an attachment or a hook leaves to be done, where it does not end the task. */
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
  const isAsked = isAskable(before, setting, now);
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
  const isAsked = isAskable(after, setting, now);
  const { poll } = after.tracking;
  const askedAt = kept.length > 0 ? now : now + (setting.limits?.firstMs ?? 0);
  return firstViolation(
    ["what hooks said before is judged once", after.tracking.keptHooks.length === 0],
    [
      "what hooks said before is believed where nobody can be asked",
      isAsked || kept.every(({ news }) => factOf(news) === null),
    ],
    ["after an attachment the upstream is asked", !isAsked || poll?.at === askedAt],
    ["a deadline is put off once", after.tracking.isExtended === isExtended],
  );
}

/** Of each job and status the last hook is kept until the job is known. */
function keptFault({ jobId, news }: Hook, before: OpenTask, after: OpenTask): string | null {
  const others = before.tracking.keptHooks.filter(
    (hook) => hook.jobId !== jobId || hook.news.status !== news.status,
  );
  const kept = [...others, { jobId, news }].slice(-HOOKS_KEPT);
  const isKept = isEqual(after.tracking.keptHooks, kept);
  return firstViolation(["a hook that comes before its job is kept", isKept]);
}

function nudgeFault(plan: PollPlan, { tracking }: OpenTask, now: number): string | null {
  const { at, nudges } = tracking.poll ?? { at: Infinity, nudges: 0 };
  return firstViolation(
    ["a nudge has the upstream asked at once", at <= Math.max(now, plan.notBefore)],
    ["a nudge is another poll than the one that runs", nudges > plan.nudges || plan.at > now],
  );
}

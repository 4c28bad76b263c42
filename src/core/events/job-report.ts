import type { TaskEvent } from "./event.ts";
import type { Policy } from "../policy.ts";
import type { EndRange } from "../record/durations.ts";
import { previousPollTime } from "../record/poll-cadence.ts";
import { cadenceOf, type PollPlan } from "../record/poll-plan.ts";
import {
  isOpen,
  isTerminal,
  type OpenTask,
  type TaskRecord,
  type TerminalTask,
} from "../record/task.ts";
import type { UpstreamNews } from "../record/upstream.ts";

/** What the end of a job, or a hook after it, tells about the next jobs of its connection. */
export interface JobReport {
  readonly connection: string;
  /** The kind of the job and when it ended; null for a report that only says that a hook came. */
  readonly end: { readonly kind: string; readonly range: EndRange } | null;
  /** States that at least one hook about the task has come; null when none did and none was expected. */
  readonly hasHook: boolean | null;
}

/** Largest length of the name of a kind in characters. Kinds whose names begin alike are one. */
const MAX_KIND_CHARS = 200;

/** Returns the name of the kind of a job: its endpoint and model, whose jobs take about the same time. */
export function kindOf(model: string, endpoint: string | null): string {
  const name = endpoint === null ? model : `${endpoint} ${model}`;
  return name.slice(0, MAX_KIND_CHARS).toWellFormed();
}

/**
 * Returns what is to be reported after an event: the end of a job that was chosen for a report at its
 * attachment, and that a hook came where none was expected, before or after the end of the task. Null when
 * there is nothing to report.
 * @param before the task before the event.
 * @param after the task after the event.
 */
export function reportOf(
  before: TaskRecord | null,
  event: TaskEvent,
  after: TaskRecord | null,
  policy: Policy,
  now: number,
): JobReport | null {
  if (before === null || after === null || !isTerminal(after)) return null;
  if (isTerminal(before)) return lateHook(before, event);
  const news = newsOf(event);
  return isOpen(before) && news !== null ? jobEnd(before, event, news, policy, now) : null;
}

/** Returns the report of the event that ended a task with news of its job; null when there is none to send. */
function jobEnd(
  task: OpenTask,
  event: TaskEvent,
  news: UpstreamNews,
  policy: Policy,
  now: number,
): JobReport | null {
  const { upstream, tracking, model } = task;
  const { poll: plan } = tracking;
  if (upstream === null || upstream.job === null || plan === null) return null;
  const { connection, job } = upstream;
  const hasHook = hasHookOf(plan, event);
  if (plan.isReported && isEnd(news)) {
    const range = endRange(task, plan, event, news, policy, now);
    return { connection, end: { kind: kindOf(model, job.endpoint), range }, hasHook };
  }
  const isUnexpected = hasHook === true && plan.hookWaitMs === null;
  return isUnexpected ? { connection, end: null, hasHook } : null;
}

/** Returns the report of a hook that came after the end of its task; null for other events. */
function lateHook({ upstream }: TerminalTask, event: TaskEvent): JobReport | null {
  if (event.type !== "hook" || event.connection !== upstream?.connection) return null;
  return { connection: event.connection, end: null, hasHook: true };
}

/** Tells whether a hook about a job came until its end; null when none did and none was expected. */
function hasHookOf({ heard, hint, hookWaitMs }: PollPlan, { type }: TaskEvent): boolean | null {
  const hasHook = type === "hook" || heard.length > 0 || hint !== null;
  return hasHook || hookWaitMs !== null ? hasHook : null;
}

type End = Extract<UpstreamNews, { readonly status: "completed" | "failed" }>;

/** Returns the news of a job in an event of its upstream; null when there is none. */
function newsOf(event: TaskEvent): UpstreamNews | null {
  if (event.type === "hook") return event.news;
  return event.type === "poll_ended" && event.answer.kind === "news" ? event.answer.news : null;
}

/** Tells whether news has the time of the end: success without output is believed minutes after it. */
function isEnd(news: UpstreamNews): news is End {
  return news.status === "completed" || news.status === "failed";
}

/**
 * Returns the range in which a job ended: the time that the upstream states, that of the hook which brought
 * the result or announced it, or all the time from the last poll, which found no result, to the poll that
 * did. A stated time outside of that range is moved into it, because the clock of the upstream may be wrong.
 */
function endRange(
  task: OpenTask,
  plan: PollPlan,
  event: TaskEvent,
  news: End,
  policy: Policy,
  now: number,
): EndRange {
  const { attachedAt, hint } = plan;
  const isHook = event.type === "hook";
  const foundAt = event.type === "poll_ended" ? event.askedAt : now;
  const plannedAt = isHook ? attachedAt : previousPollTime(cadenceOf(task, plan, policy), foundAt);
  // No poll was made before the time to which a hook has moved the next one.
  const pendingAt = plannedAt < (plan.at ?? 0) ? attachedAt : plannedAt;
  const statedAt = news.status === "completed" ? news.completedAt : null;
  const endedAt = statedAt ?? (isHook ? now : (hint?.at ?? null));
  const within = (time: number) => Math.min(Math.max(time, pendingAt), foundAt) - attachedAt;
  return { minMs: within(endedAt ?? pendingAt), maxMs: within(endedAt ?? foundAt) };
}

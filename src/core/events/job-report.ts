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

/**
 * Report of a task to the Durable Object of its connection to the provider, sent after the task's job has
 * ended, or after a later hook: how long the job took, and whether hooks come. The polls of later jobs are
 * planned from these reports.
 */
export interface JobReport {
  readonly connection: string;
  /**
   * Kind of the job (its endpoint and model) and the range of time in which it ended; null when the report only
   * says that a hook has come.
   */
  readonly end: { readonly kind: string; readonly range: EndRange } | null;
  /**
   * True when at least one hook about the task has come, false when one was expected and none came; null when
   * none was expected and none came.
   */
  readonly hasHook: boolean | null;
}

/** Largest length in characters of the name of a job's kind (its endpoint and model); a longer name is cut. */
const MAX_KIND_CHARS = 200;

/**
 * Returns the name of the kind of a job: its endpoint and its model, because jobs with the same ones take
 * about the same time.
 */
export function kindOf(model: string, endpoint: string | null): string {
  const name = endpoint === null ? model : `${endpoint} ${model}`;
  return name.slice(0, MAX_KIND_CHARS).toWellFormed();
}

/**
 * Returns the report of a task to the Durable Object of its connection to the provider after an event; null
 * when there is nothing to report. A report states when the job ended, if the job was chosen for such a report
 * when it was attached; or that a hook came although none was expected, or came after the end of the task.
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

/**
 * Returns the report to the Durable Object of the connection when a hook or a poll has ended a task; null
 * when there is nothing to report.
 */
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

/**
 * Returns the report to the Durable Object of the connection when an event is a hook that came after the end of
 * its task; null for other events.
 */
function lateHook({ upstream }: TerminalTask, event: TaskEvent): JobReport | null {
  if (event.type !== "hook" || event.connection !== upstream?.connection) return null;
  return { connection: event.connection, end: null, hasHook: true };
}

/** Tells whether a hook about a job came before or at its end; null when none was expected and none came. */
function hasHookOf({ heard, hint, hookWaitMs }: PollPlan, { type }: TaskEvent): boolean | null {
  const hasHook = type === "hook" || heard.length > 0 || hint !== null;
  return hasHook || hookWaitMs !== null ? hasHook : null;
}

type End = Extract<UpstreamNews, { readonly status: "completed" | "failed" }>;

/**
 * Returns the state of the job that a hook or the answer to a poll has reported; null for other events, and
 * for an answer that states none.
 */
function newsOf(event: TaskEvent): UpstreamNews | null {
  if (event.type === "hook") return event.news;
  return event.type === "poll_ended" && event.answer.kind === "news" ? event.answer.news : null;
}

/**
 * Tells whether the time at which the end of a job was reported says when the job ended. For a success
 * without output it does not, because that ends a task only after it has been reported for ten minutes.
 */
function isEnd(news: UpstreamNews): news is End {
  return news.status === "completed" || news.status === "failed";
}

/**
 * Returns the range of time in which a job ended. Its limits are equal when the time is known: the upstream
 * states it, or a hook brought or announced the result. Otherwise the job ended between the last poll that
 * found no result and the poll that found it. A stated time that is impossible is replaced by the nearest
 * possible one, because the clock of the upstream may be wrong.
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

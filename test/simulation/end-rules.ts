import type { AttachEvent, HookEvent, PollAnswer } from "../../src/core/events/event.ts";
import type { OpenTask, TaskRecord, TerminalTask } from "../../src/core/record/task.ts";
import type { UpstreamNews, UpstreamResult } from "../../src/core/record/upstream.ts";
import { CONNECTION, DAY } from "../core/builders.ts";
import { type Change, firstViolation } from "./change.ts";
import type { Setting } from "./setting.ts";
import type { Fact } from "./task-history.ts";

export const RETENTION_MS = 28 * DAY;

/** What the body of a task says that nobody reported on in time. */
export const TIMEOUT_SAID = JSON.stringify("upstream_timeout");

/** What is final in what a report, a hook or a poll says; null: nothing. */
export function factOf(
  news: UpstreamResult | UpstreamNews | { readonly status: "processing" },
): Fact | null {
  switch (news.status) {
    case "completed":
      return { status: "completed", said: JSON.stringify(news.urls) };
    case "failed":
      return { status: "failed", said: JSON.stringify(news.error.code) };
    case "no_output":
      return { status: "failed", said: JSON.stringify("upstream_error") };
    case "queued":
    case "processing":
      return null;
  }
}

/** What the stored callback body says, read as a client reads it. */
export function saidIn({ body }: TerminalTask): Fact {
  const task: { status: Fact["status"]; output?: { urls: string[] }; error?: { code: string } } =
    JSON.parse(body);
  return { status: task.status, said: JSON.stringify(task.output?.urls ?? task.error?.code) };
}

/** Nobody here says when the upstream was ready, so it was ready when it said so. */
function isDated({ body, status }: TerminalTask, now: number): boolean {
  const { completed_at: at }: { completed_at?: number } = JSON.parse(body);
  return status === "completed" ? at === Math.floor(now / 1000) : at === undefined;
}

export function isSame(a: Fact, b: Fact): boolean {
  return a.status === b.status && a.said === b.said;
}

/** Whether the upstream would answer for this task now. */
export function isAskable(task: OpenTask, setting: Setting, now: number): boolean {
  if (task.upstream?.connection !== CONNECTION || setting.limits === null) return false;
  const { maxAgeMs } = setting.limits;
  const askAt = Math.max(now, task.tracking.poll?.notBefore ?? 0);
  return maxAgeMs === null || askAt < task.createdAt + maxAgeMs;
}

/** Whether this hook may end the task: signed, or nobody else can be asked. */
export function isBelieved(
  task: OpenTask,
  hook: HookEvent,
  setting: Setting,
  now: number,
): boolean {
  const job = task.upstream?.job ?? null;
  if (task.upstream?.connection !== hook.connection) return false;
  if (job !== null && hook.jobId !== null && hook.jobId !== job.id) return false;
  const isFinal = factOf(hook.news) !== null;
  if (!isAskable(task, setting, now)) return isFinal;
  return isFinal && hook.isSigned && hook.news.status !== "no_output";
}

/** Hooks that came before the job was known are believed where nobody can be asked after it. */
export function keptFacts(
  { connection, job }: AttachEvent,
  task: OpenTask,
  setting: Setting,
  now: number,
): readonly Fact[] {
  if (isAskable({ ...task, upstream: { connection, job } }, setting, now)) return [];
  const kept = task.tracking.keptHooks.filter(({ jobId }) => jobId === null || jobId === job.id);
  return kept.flatMap(({ news }) => factOf(news) ?? []);
}

export function pollFact(answer: PollAnswer): Fact | null {
  return answer.kind === "news" ? factOf(answer.news) : null;
}

export function isWithoutOutput(answer: PollAnswer): boolean {
  return answer.kind === "news" && answer.news.status === "no_output";
}

/** It is at work, or does not want to be asked now. */
export function isSpoken({ kind }: PollAnswer): boolean {
  return kind === "news" || kind === "limited";
}

/** Promises 3, 4 and 6 for the commit that ends a task: who said so, and what it owes. */
export function finishFault(change: Change<TaskRecord | null, TerminalTask>): string | null {
  const { before, after, history, now, heard } = change;
  const tracking = before !== null && "tracking" in before ? before.tracking : null;
  const isLastTime = tracking?.poll?.isOutputMissing === true || isAskedAfterDeadline(change);
  const end = saidIn(after);
  const isTimeout = end.said === TIMEOUT_SAID;
  const isToldBy = history.facts.some((fact) => isSame(fact, end));
  const isCanceled = history.isCanceled && end.said === JSON.stringify("canceled");
  const owed = history.amount !== null && after.status === "failed";
  return firstViolation(
    ["an end was told by somebody entitled", isToldBy || isCanceled || isTimeout],
    ["a timeout is after the deadline", !isTimeout || isOverdue(change)],
    [
      "work that goes on puts the deadline off once",
      !isTimeout || heard === null || !isSpoken(heard.answer) || tracking?.isExtended === true,
    ],
    [
      "success without output is asked after once more",
      heard === null || !isWithoutOutput(heard.answer) || isLastTime,
    ],
    ["the end is dated", after.finishedAt === now],
    ["a completion is dated when it was told", isDated(after, now)],
    ["retention counts from the end", after.expiresAt === now + RETENTION_MS],
    [
      "a failure owes its credits, and nothing else does",
      owed === (after.credits?.state.kind === "refunding"),
    ],
    ["nothing is charged by ending", before !== null || history.amount === null],
    [
      "the callback of a failure waits for the refund",
      !owed || after.callback === null || after.callback.state.kind === "held",
    ],
  );
}

function isAskedAfterDeadline({
  before,
  history,
}: Change<TaskRecord | null, TerminalTask>): boolean {
  return before !== null && "deadlineAt" in before && history.polledAt >= before.deadlineAt;
}

/** Also: where the upstream can be asked, it was asked after the deadline. */
function isOverdue({
  before,
  history,
  now,
  setting,
}: Change<TaskRecord | null, TerminalTask>): boolean {
  if (before === null || !("tracking" in before) || now < before.deadlineAt) return false;
  const { poll } = before.tracking;
  const isAsked = history.polledAt >= before.deadlineAt || setting.isPaused || poll === null;
  return isAsked || !isAskable(before, setting, Math.max(before.deadlineAt, poll.notBefore));
}

/** An open task that stays open: its deadline moves once, by a quarter, and only when it has passed. */
export function deadlineFault({ before, after, now }: Change<OpenTask, OpenTask>): string | null {
  if (before.deadlineAt === after.deadlineAt) return null;
  const quarter = Math.round((before.deadlineAt - before.createdAt) / 4);
  return firstViolation(
    ["a deadline is put off once", !before.tracking.isExtended && after.tracking.isExtended],
    ["a deadline is put off when it has passed", now >= before.deadlineAt],
    ["a deadline is put off by a quarter", after.deadlineAt === now + quarter],
  );
}

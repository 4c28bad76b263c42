import type {
  AttachEvent,
  HookEvent,
  PollAnswer,
  SubmitEndedEvent,
} from "../../src/core/events/event.ts";
import type { RefusalClass } from "../../src/core/record/refusal.ts";
import {
  isOpen,
  type OpenTask,
  type TaskRecord,
  type TerminalTask,
} from "../../src/core/record/task.ts";
import type { UpstreamNews, UpstreamResult } from "../../src/core/record/upstream.ts";
import { CONNECTION, DAY, MINUTE } from "../core/builders.ts";
import { parsedBody } from "./callback-body.ts";
import { isCancelMissing, isConfirmedEnd, isFoundCanceled } from "./cancel-rules.ts";
import { type Change, firstViolation, isEqual, recentResult } from "./change.ts";
import type { OutsideEvent } from "./moves.ts";
import { FILE, linksFault, reportedLinks } from "./output-rules.ts";
import { OVERSIZED } from "./oversized.ts";
import { endTime, overtimeEnd } from "./poll-times.ts";
import type { Setting } from "./setting.ts";
import type { EndResult } from "./task-history.ts";

export const RETENTION_MS = 28 * DAY;

/** Content of the end of a task that timed out: the error code in its callback body. */
export const TIMEOUT_CONTENT = JSON.stringify("upstream_timeout");

/** Content of the end of a task that was canceled. */
const CANCELED_CONTENT = JSON.stringify("canceled");

/** Content of the end of a task whose submission had an unknown outcome for too long. */
export const SUBMIT_UNKNOWN_CONTENT = JSON.stringify("submit_unknown");
/** Content of the end of a task whose call has waited for too long to be sent. */
export const QUEUE_TIMEOUT_CONTENT = JSON.stringify("queue_timeout");
/** End of a task whose output was in the answer, in a relay that keeps no outputs. */
const UNKEPT: EndResult = {
  status: "failed",
  content: JSON.stringify("output_needs_store"),
  usage: null,
};
const REFUSED: EndResult = {
  status: "failed",
  content: JSON.stringify("upstream_error"),
  usage: null,
};
/** Error codes of a task whose submission was refused because of the balance or the key at the upstream. */
const CODES: Readonly<Partial<Record<RefusalClass, string>>> = {
  funds: "upstream_funds",
  key: "upstream_key",
};

/** Returns the end that a report, a hook or a poll reports; null when it reports none. */
export function endResultOf(
  news: UpstreamResult | UpstreamNews | { readonly status: "processing" },
): EndResult | null {
  const usage = usageOf(news);
  const refused = { ...REFUSED, usage };
  if (isOversized(news)) return refused;
  switch (news.status) {
    case "completed":
      return { status: "completed", content: JSON.stringify(outputsOf(news)), usage };
    case "failed":
      return { status: "failed", content: JSON.stringify(news.error.code), usage };
    case "no_output":
      return refused;
    case "queued":
    case "processing":
      return null;
  }
}

/** Returns the outputs of a success: a mark for each file that was in the answer, then the links. */
function outputsOf({
  files = [],
  urls,
}: Extract<UpstreamResult, { readonly status: "completed" }>) {
  return [...files.map(() => FILE), ...urls];
}

/** Returns the end that the answer to a submission reports; without a bucket, files in the answer are lost. */
export function endOfAnswer(
  news: UpstreamResult | UpstreamNews,
  { areOutputsKept }: Setting,
): EndResult | null {
  const hasFiles = news.status === "completed" && news.files !== undefined;
  return hasFiles && !areOutputsKept ? { ...UNKEPT, usage: usageOf(news) } : endResultOf(news);
}

/** Returns the consumption that a hook or a poll states for the job; null when it states none. */
function usageOf(news: UpstreamResult | UpstreamNews | { readonly status: "processing" }) {
  return "usage" in news ? (news.usage ?? null) : null;
}

/** Returns whether a hook or a poll reports a result that cannot be stored. */
export function isOversized(news: object): boolean {
  return OVERSIZED.some((one) => one === news);
}

/** Returns the end in the stored callback body as it was reported, and the stored consumption of the job. */
export function storedResult(record: TerminalTask): EndResult {
  const { status, error } = parsedBody(record.body);
  const content = JSON.stringify(reportedLinks(record) ?? error?.code);
  return { status, content, usage: record.usage };
}

/** Checks `completed_at`: in the simulation no party states another time, so it is the time of the report. */
function isDated({ body, status }: TerminalTask, now: number): boolean {
  const { completed_at: at } = parsedBody(body);
  return status === "completed" ? at === Math.floor(now / 1000) : at === undefined;
}

export function isSameResult(a: EndResult, b: EndResult): boolean {
  return a.status === b.status && a.content === b.content;
}

/** Returns whether the upstream can be polled for this task now. */
export function isPollable(task: OpenTask, setting: Setting, now: number): boolean {
  if (task.upstream?.connection !== CONNECTION || setting.limits === null) return false;
  const { maxAgeMs } = setting.limits;
  const askAt = Math.max(now, task.tracking.poll?.notBefore ?? 0);
  return maxAgeMs === null || askAt < task.createdAt + maxAgeMs;
}

/** Returns whether this hook may end the task: it is signed, or the upstream cannot be polled. */
export function mayHookEnd(
  task: OpenTask,
  hook: HookEvent,
  setting: Setting,
  now: number,
): boolean {
  const job = task.upstream?.job ?? null;
  if (task.upstream?.connection !== hook.connection) return false;
  if (task.submission?.id !== hook.submissionId) return false;
  if (job !== null && hook.jobId !== null && hook.jobId !== job.id) return false;
  const isFinal = endResultOf(hook.news) !== null;
  if (!isPollable(task, setting, now)) return isFinal && hook.unread === undefined;
  return isFinal && isProven(task, hook) && hook.news.status !== "no_output";
}

/** Tells whether a signature proves a hook about a task. It proves nothing for a job of a customer's key. */
export function isProven(
  { submission }: Pick<TaskRecord, "submission">,
  { isSigned }: Pick<HookEvent, "isSigned">,
): boolean {
  return isSigned && (submission === null || submission.customerKey === null);
}

/** Returns the ends in early hooks, which count where the upstream cannot be polled. */
function keptHookResults(
  { connection, job }: Pick<AttachEvent, "connection" | "job">,
  task: OpenTask,
  setting: Setting,
  now: number,
): readonly EndResult[] {
  if (isPollable({ ...task, upstream: { connection, job } }, setting, now)) return [];
  const kept = task.tracking.keptHooks.filter(({ jobId }) => jobId === null || jobId === job.id);
  return kept.flatMap(({ news, unread }) => (unread ? [] : (endResultOf(news) ?? [])));
}

/** Returns the ends that an event may cause. */
export function possibleEnds(
  event: OutsideEvent,
  task: OpenTask,
  setting: Setting,
  now: number,
): readonly EndResult[] {
  if (event.type === "attach") return keptHookResults(event, task, setting, now);
  if (event.type === "submit_ended") return submittedEnds(event, task, setting, now);
  if (event.type !== "report" && event.type !== "hook") return [];
  const end = endResultOf(event.news);
  const isEntitled = event.type === "report" || mayHookEnd(task, event, setting, now);
  return end !== null && isEntitled ? [end] : [];
}

/** Returns the ends that the answer to a submission may cause. */
function submittedEnds(
  { submissionId, outcome }: SubmitEndedEvent,
  task: OpenTask,
  setting: Setting,
  now: number,
): readonly EndResult[] {
  const { submission, upstream } = task;
  if (submission?.id !== submissionId) return [];
  switch (outcome.kind) {
    case "result":
      return [endOfAnswer(outcome.news, setting)].filter((end) => end !== null);
    case "refused":
      return submission.isCall === true || submission.state.kind === "unknown"
        ? [refusedEnd(outcome.refusal)]
        : [];
    case "accepted":
      return upstream === null
        ? []
        : keptHookResults({ ...upstream, ...outcome }, task, setting, now);
    case "not_sent":
      return submission.isCall === true ? [REFUSED] : [];
    case "unknown":
      return [];
  }
}

/** Returns the end of a task whose submission was refused. */
function refusedEnd(refusal: RefusalClass): EndResult {
  return { ...REFUSED, content: JSON.stringify(CODES[refusal] ?? "upstream_error") };
}

/** Tells whether the submission of a task waits to be sent, or it is not known whether it has started a job. */
function isAwaitingJob({ submission }: OpenTask): boolean {
  const kind = submission?.state.kind;
  return kind === "queued" || kind === "sending" || kind === "unknown";
}

export function pollEndResult(answer: PollAnswer): EndResult | null {
  return answer.kind === "news" ? endResultOf(answer.news) : null;
}

/** Tells whether a task is so long past its deadline that the output of a success is awaited no more. */
function isOvertimeOver(task: TaskRecord | null, now: number): boolean {
  const plan = task !== null && isOpen(task) ? task.tracking.poll : null;
  return (
    task !== null && isOpen(task) && plan !== null && now >= overtimeEnd(task.deadlineAt, plan)
  );
}

function isWithoutOutput(answer: PollAnswer): boolean {
  return answer.kind === "news" && answer.news.status === "no_output";
}

/** Tells whether the upstream answered, with news or with a rate limit. */
export function isResponsive({ kind }: PollAnswer): boolean {
  return kind === "news" || kind === "limited";
}

/** Checks promises 3, 4 and 6 for the commit that ends a task: its source and its refund. */
export function finishFault(change: Change<TaskRecord | null, TerminalTask>): string | null {
  const { before, after, history, now } = change;
  const pollResult = recentResult(change.pollResult, now);
  const tracking = before !== null && "tracking" in before ? before.tracking : null;
  const { answer = null } = tracking?.poll ?? {};
  const endAt = before !== null && isOpen(before) ? endTime(before) : -Infinity;
  const end = storedResult(after);
  const isTimeout = end.content === TIMEOUT_CONTENT;
  const isLost = end.content === SUBMIT_UNKNOWN_CONTENT;
  const isUnsent = end.content === QUEUE_TIMEOUT_CONTENT;
  const sources = history.possibleEnds.filter((fact) => isSameResult(fact, end));
  const isCanceled = end.content === CANCELED_CONTENT;
  const isConfirmed = isConfirmedEnd(change);
  const reason = after.cancellation?.reason;
  const isConfirmedAtDeadline = isConfirmed && reason === "deadline";
  const owed = history.amount !== null && after.status === "failed";
  const fault = linksFault(change);
  if (fault !== null) return fault;
  return firstViolation({
    "an end has an entitled source":
      sources.length > 0 || isCanceled || isTimeout || isLost || isUnsent,
    "a call fails its task when it has waited to be sent for its time":
      !isUnsent || hasWaited(before, now),
    "a task is canceled by an order without the upstream, or when its job is canceled there":
      !isCanceled || (isConfirmed ? reason === "order" : history.isCanceled),
    "a cancellation that is said to be confirmed is true":
      after.cancellation?.state.kind !== "confirmed" || isConfirmed,
    "a task whose job is found to be canceled by an order says so":
      !isFoundCanceled(change) || (isConfirmed && (isCanceled || isTimeout)),
    "a job that can be canceled is canceled before its task times out":
      !isTimeout || isConfirmed || !isCancelMissing(change),
    "a submission fails its task when its outcome was unknown for the configured time, or nothing can show its job":
      !isLost || isLostFor(before, now),
    "a deadline does not end a task whose submission may have started a job":
      !isTimeout || before === null || !isOpen(before) || !isAwaitingJob(before),
    "what the job has consumed is stored with its end, as the source states it":
      sources.length === 0
        ? end.usage === null
        : sources.some(({ usage }) => isEqual(usage, end.usage)),
    "a timeout is after the deadline": !isTimeout || isConfirmedAtDeadline || isOverdue(change),
    "a kept job that the upstream could confirm is asked for before a timeout":
      !isTimeout ||
      before === null ||
      pollResult !== null ||
      // After a fault of the storage, or a minute after the poll, no answer counts, but the poll was made.
      (history.polledAt >= endAt && (change.hadFault || now >= history.polledAt + MINUTE)) ||
      !hasUnaskedJob(before, change.setting),
    "work in progress extends the deadline once":
      !isTimeout ||
      pollResult === null ||
      pollResult.askedAt < endAt ||
      !isResponsive(pollResult.answer) ||
      tracking?.isExtended === true ||
      before?.cancellation?.endsAt != null,
    "success without output ends a task after ten minutes of it":
      pollResult === null ||
      !isWithoutOutput(pollResult.answer) ||
      (isTimeout && isOvertimeOver(before, now)) ||
      (answer?.kind === "no_output" && pollResult.askedAt >= answer.since + 10 * MINUTE),
    "the end is dated": after.finishedAt === now,
    "a completion is dated when it was reported": isDated(after, now),
    "retention counts from the end": after.expiresAt === now + RETENTION_MS,
    "a failure owes its credits, and nothing else does":
      owed === (after.credits?.state.kind === "refunding"),
    "nothing is charged by ending": before !== null || history.amount === null,
  });
}

/** Tells whether the call of a task has waited to be sent until its time was over. */
function hasWaited(before: TaskRecord | null, now: number): boolean {
  const state = before !== null && isOpen(before) ? before.submission?.state : undefined;
  return state?.kind === "queued" && now >= state.failsAt;
}

/**
 * Tells whether a task has waited for the job of a submission with an unknown outcome until its end, or the call was under
 * way and nothing could show its job (submission-rules.ts).
 */
function isLostFor(before: TaskRecord | null, now: number): boolean {
  const state = before !== null && isOpen(before) ? before.submission?.state : undefined;
  if (state?.kind === "sending") return before?.submission?.isHookless === true;
  return state?.kind === "unknown" && now >= state.failsAt;
}

/** Tells whether the deadline has passed and the upstream, where it can be polled, was polled after it. */
function isOverdue({
  before,
  history,
  now,
  setting,
}: Change<TaskRecord | null, TerminalTask>): boolean {
  if (before === null || !("tracking" in before)) return false;
  const endAt = endTime(before);
  if (now < endAt) return false;
  const { poll } = before.tracking;
  const isAsked = history.polledAt >= endAt || setting.isPaused || poll === null;
  return isAsked || !isPollable(before, setting, Math.max(endAt, poll.notBefore));
}

/** Checks that the deadline of an open task moves once, by a quarter, and only when it has passed. */
export function deadlineFault({ before, after, now }: Change<OpenTask, OpenTask>): string | null {
  if (before.deadlineAt === after.deadlineAt) return null;
  const quarter = Math.round((before.deadlineAt - before.createdAt) / 4);
  return firstViolation({
    "a deadline is extended once": !before.tracking.isExtended && after.tracking.isExtended,
    "a deadline is extended when it has passed": now >= before.deadlineAt,
    "a deadline is extended by a quarter": after.deadlineAt === now + quarter,
  });
}

/** Tells whether answers to polls show that a job can be that of the task's submission. */
function isRecognised({ submission }: TaskRecord, { limits }: Setting): boolean {
  return submission !== null && limits?.isCreationStated === true;
}

/** Tells whether answers to polls show whether a job that only a hook has named belongs to the task. */
export function isShown(task: TaskRecord, setting: Setting): boolean {
  return setting.limits?.isTaskNamed === true || isRecognised(task, setting);
}

/** Tells whether hooks have named jobs that the upstream could still confirm when the task ends. */
function hasUnaskedJob(task: TaskRecord, setting: Setting): boolean {
  if (!("tracking" in task) || task.upstream?.job !== null || setting.isPaused) return false;
  const { limits } = setting;
  if (limits === null || !isShown(task, setting)) return false;
  const isRemembered =
    limits.maxAgeMs === null || task.deadlineAt < task.createdAt + limits.maxAgeMs;
  return isRemembered && task.tracking.keptHooks.some(({ jobId }) => jobId !== null);
}

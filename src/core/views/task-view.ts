import { appendMembers } from "../json.ts";
import {
  type Attempt,
  type Callback,
  callbackStatus,
  MAX_ATTEMPTS_KEPT,
} from "../record/callback.ts";
import type { ChargingCredits, Credits } from "../record/credits.ts";
import { toSeconds } from "../time.ts";
import {
  type ChargingTask,
  isOpen,
  isTerminal,
  type OpenTask,
  type TaskRecord,
  type TerminalTask,
} from "../record/task.ts";
import type { UpstreamAnswer } from "../record/poll-plan.ts";
import { keptJobIds, type Tracking } from "../record/tracking.ts";
import type { Upstream } from "../record/upstream.ts";

/** Kind of reader of a task. Only the operator sees the upstream and the answers of receivers. */
export type Reader = "operator" | "account";

/**
 * Writes the task as `GET /v1/tasks/{id}` shows it, as JSON text. The text for a terminal task begins with
 * its callback body, byte for byte. Lists show rows of the index instead (views/index-row.ts).
 * @param progress progress of the job of an open task in percent; null when it is not known.
 */
export function taskView(
  record: TaskRecord,
  reader: Reader,
  progress: number | null = null,
): string {
  const extras = JSON.stringify({
    callback: callbackView(record, reader),
    ...optional("account", record.account?.id ?? null),
    ...optional("provider", reader === "operator" ? (record.upstream?.connection ?? null) : null),
    ...optional("upstream", reader === "operator" ? upstreamView(record.upstream) : null),
    ...optional("metadata", record.registration?.metadata ?? null),
    ...optional("credits", creditsView(record.credits)),
    ...(isTerminal(record)
      ? { ...optional("failure", record.failure), ...usageView(record, reader) }
      : openView(record, reader, progress)),
  });
  return appendMembers(head(record), extras);
}

function head(record: TaskRecord): string {
  if (isTerminal(record)) return record.body;
  const { id, status, model } = record;
  return JSON.stringify({ id, status, model, created_at: toSeconds(record.createdAt) });
}

function callbackView(record: TaskRecord, reader: Reader) {
  if (isTerminal(record)) return terminalCallbackView(record, reader);
  if (record.callbackUrl === null) return null;
  return { url: record.callbackUrl, status: "waiting", attempts: [] };
}

function terminalCallbackView({ callback }: TerminalTask, reader: Reader) {
  if (callback === null) return null;
  const { state, deliveredAt, series } = callback;
  const isWaiting = state.kind === "due";
  return {
    url: callback.url,
    status: callbackStatus(callback),
    attempts: [
      ...callback.attempts.map((attempt) => attemptView(attempt, reader)),
      ...openAttemptView(callback, reader),
    ].slice(-MAX_ATTEMPTS_KEPT),
    ...optional("next_attempt_at", isWaiting ? toSeconds(state.nextAttemptAt) : null),
    ...optional("ordered_by", isWaiting && reader === "operator" ? series.keyName : null),
    ...optional("delivered_at", deliveredAt === null ? null : toSeconds(deliveredAt)),
  };
}

function attemptView(attempt: Attempt, reader: Reader) {
  return {
    number: attempt.number,
    series: attempt.series,
    started_at: toSeconds(attempt.startedAt),
    duration_ms: attempt.durationMs,
    outcome: attempt.outcome,
    ...optional("status_code", attempt.statusCode),
    ...optional("cloudflare_error", attempt.cloudflareError),
    ...optional("response_excerpt", reader === "operator" ? attempt.responseExcerpt : null),
    ...optional("ordered_by", reader === "operator" ? attempt.keyName : null),
  };
}

function openAttemptView({ state, series }: Callback, reader: Reader) {
  if (state.kind !== "in_flight") return [];
  const { number, startedAt } = state;
  const orderedBy = reader === "operator" ? series.keyName : null;
  const attempt = { number, series: series.number, started_at: toSeconds(startedAt) };
  return [{ ...attempt, ...optional("ordered_by", orderedBy) }];
}

function upstreamView(upstream: Upstream | null) {
  if (upstream?.job == null) return null;
  const { id, endpoint } = upstream.job;
  return { id, ...optional("endpoint", endpoint) };
}

/** Shows the operator what the job has consumed or cost: the account would read the operator's own price in it. */
function usageView({ usage }: TerminalTask, reader: Reader) {
  return optional("usage", reader === "operator" ? usage : null);
}

function openView(record: OpenTask | ChargingTask, reader: Reader, progress: number | null) {
  const tracking = reader === "operator" && isOpen(record) ? trackingView(record.tracking) : {};
  return {
    ...optional("progress", progress),
    deadline_at: toSeconds(record.deadlineAt),
    ...optional("tracking", Object.keys(tracking).length === 0 ? null : tracking),
  };
}

/**
 * Shows the jobs that hooks have named while none is attached, and since when the upstream has given only
 * answers that were not understood, with the first of them.
 */
function trackingView(tracking: Tracking) {
  const jobIds = keptJobIds(tracking);
  const answer = tracking.poll?.answer ?? null;
  const isUnclear = answer?.kind === "unclear";
  return {
    ...optional("kept_jobs", jobIds.length === 0 ? null : jobIds),
    ...optional("unclear", isUnclear ? unclearView(answer) : null),
  };
}

function unclearView({ since, statusCode, word }: UpstreamAnswer) {
  return {
    since: toSeconds(since),
    ...optional("status_code", statusCode),
    ...optional("word", word),
  };
}

function creditsView(credits: Credits | ChargingCredits | null) {
  return credits === null ? null : { amount: credits.amount, state: credits.state.kind };
}

function optional(name: string, value: unknown): Record<string, unknown> {
  return value === null ? {} : { [name]: value };
}

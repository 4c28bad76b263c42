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
import { causeOf } from "../record/outcome.ts";
import type { Policy } from "../policy.ts";
import type { Upstream } from "../record/upstream.ts";
import { optional } from "./optional.ts";
import { trackingView } from "./tracking-view.ts";

/** Kind of reader of a task. Only the operator sees the upstream and the answers of receivers. */
export type Reader = "operator" | "account";

/**
 * Writes the task as `GET /v1/tasks/{id}` shows it, as JSON text. The text for a terminal task begins with
 * its callback body, byte for byte. Lists show rows of the index instead (views/index-row.ts).
 * @param progress progress of the job of an open task in percent; null when it is not known.
 * @param policy settings and memory of the task's object, from which follow the times and reasons of what
 * waits; null leaves out all that can change while the version of the task stays.
 */
export function taskView(
  record: TaskRecord,
  reader: Reader,
  progress: number | null = null,
  policy: Policy | null = null,
): string {
  const extras = JSON.stringify({
    callback: callbackView(record, reader, policy),
    ...optional("account", record.account?.id ?? null),
    ...(reader === "operator" && upstreamView(record.upstream)),
    ...optional("metadata", record.registration?.metadata ?? null),
    ...optional("credits", creditsView(record.credits, reader === "operator" && policy !== null)),
    ...(isTerminal(record) ? endView(record, reader) : openView(record, reader, progress, policy)),
  });
  return appendMembers(head(record), extras);
}

function head(record: TaskRecord): string {
  if (isTerminal(record)) return record.body;
  const { id, status, model } = record;
  return JSON.stringify({ id, status, model, created_at: toSeconds(record.createdAt) });
}

function callbackView(record: TaskRecord, reader: Reader, policy: Policy | null) {
  if (isTerminal(record)) return terminalCallbackView(record, reader, policy);
  if (record.callbackUrl === null) return null;
  return { url: record.callbackUrl, status: "waiting", attempts: [] };
}

function terminalCallbackView({ callback }: TerminalTask, reader: Reader, policy: Policy | null) {
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
    ...(policy !== null && waitView(callback, policy)),
    ...optional("next_attempt_at", isWaiting ? toSeconds(state.nextAttemptAt) : null),
    ...optional("ordered_by", isWaiting && reader === "operator" ? series.keyName : null),
    ...optional("delivered_at", deliveredAt === null ? null : toSeconds(deliveredAt)),
  };
}

/** Shows why the next attempt of a callback waits: for the refund of the task, or for the end of a pause. */
function waitView({ state }: Callback, { pausedAt }: Policy) {
  if (state.kind === "held") return { waits_for: "refund" };
  return state.kind === "due" && pausedAt !== null ? { paused: true } : {};
}

function attemptView(attempt: Attempt, reader: Reader) {
  return {
    number: attempt.number,
    series: attempt.series,
    started_at: toSeconds(attempt.startedAt),
    duration_ms: attempt.durationMs,
    outcome: attempt.outcome,
    ...optional("cause", causeOf(attempt)),
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
  if (upstream === null) return {};
  const { connection: provider, job } = upstream;
  if (job === null) return { provider };
  return { provider, upstream: { id: job.id, ...optional("endpoint", job.endpoint) } };
}

/**
 * Shows when the relay took the result, the kind of a failure and, to the operator, what the job has consumed or cost: the account would read
 * the operator's own price in it.
 */
function endView({ finishedAt, failure, usage }: TerminalTask, reader: Reader) {
  return {
    ...optional("finished_at", finishedAt === null ? null : toSeconds(finishedAt)),
    ...optional("failure", failure),
    ...optional("usage", reader === "operator" ? usage : null),
  };
}

function openView(
  record: OpenTask | ChargingTask,
  reader: Reader,
  progress: number | null,
  policy: Policy | null,
) {
  const tracking = reader === "operator" && isOpen(record) ? trackingView(record, policy) : {};
  return {
    ...optional("progress", progress),
    deadline_at: toSeconds(record.deadlineAt),
    ...optional("tracking", Object.keys(tracking).length === 0 ? null : tracking),
  };
}

function creditsView(credits: Credits | ChargingCredits | null, hasRetry: boolean) {
  if (credits === null) return null;
  const { amount, state } = credits;
  const retry = hasRetry && "retryAt" in state ? state : null;
  return {
    amount,
    state: state.kind,
    ...(retry && { retry_at: toSeconds(retry.retryAt), tries: retry.tries }),
  };
}

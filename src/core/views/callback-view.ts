import type { Policy } from "../policy.ts";
import {
  type AnswerHeaders,
  type Attempt,
  type Callback,
  callbackStatus,
  MAX_ATTEMPTS_KEPT,
} from "../record/callback.ts";
import type { CallbackTerms } from "../record/callback-terms.ts";
import { causeOf } from "../record/outcome.ts";
import { isTerminal, type TaskRecord, type TerminalTask } from "../record/task.ts";
import { toSeconds } from "../time.ts";
import { optional } from "./optional.ts";
import type { TaskReader } from "./reader.ts";

/**
 * Returns the callback of a task, with its attempts, as the API shows it. Null when the task has no `callback_url`.
 * @param policy settings, which tell why the next attempt waits; null leaves this reason out.
 */
export function callbackView(record: TaskRecord, reader: TaskReader, policy: Policy | null) {
  if (isTerminal(record)) return terminalCallbackView(record, reader, policy);
  if (record.callbackUrl === null) return null;
  const { callbackUrl: url, callbackTerms: terms } = record;
  return { url, ...termsView(terms), status: "waiting", attempts: [] };
}

function terminalCallbackView(
  { callback, finishedAt }: TerminalTask,
  reader: TaskReader,
  policy: Policy | null,
) {
  if (callback === null) return null;
  const { state, deliveredAt, series } = callback;
  const isPlanned = state.kind === "due";
  const isWaiting = isPlanned && state.rest === undefined;
  return {
    url: callback.url,
    ...termsView(callback.terms),
    status: callbackStatus(callback),
    attempts: [
      ...callback.attempts.map((attempt) => attemptView(attempt, callback.url, finishedAt, reader)),
      ...openAttemptView(callback, finishedAt, reader),
    ].slice(-MAX_ATTEMPTS_KEPT),
    ...(policy !== null && waitView(callback, policy)),
    ...optional("next_attempt_at", isWaiting ? toSeconds(state.nextAttemptAt) : null),
    ...optional("paused_until", restEnd(callback)),
    ...optional("ordered_by", isPlanned && reader === "operator" ? series.keyName : null),
    ...optional("delivered_at", deliveredAt === null ? null : toSeconds(deliveredAt)),
  };
}

/** Returns the name of the endpoint of a callback, and its schedule and its events, where the task has its own. */
function termsView(terms: CallbackTerms | undefined) {
  return {
    ...optional("endpoint", terms?.endpoint?.name ?? null),
    ...optional("schedule_s", terms?.scheduleMs?.map(toSeconds) ?? null),
    ...optional("events", terms?.events ?? null),
  };
}

/**
 * Returns why the next attempt of a callback waits: because the credits of the task are refunded first, or because
 * the operator has paused the relay.
 */
function waitView({ state }: Callback, { pausedAt }: Policy) {
  if (state.kind === "held") return { waits_for: "refund" };
  return state.kind === "due" && pausedAt !== null ? { paused: true } : {};
}

/** Returns the end of the pause of the host for which an attempt rests, in Unix seconds. Null when none rests. */
function restEnd({ state }: Callback): number | null {
  const rest = state.kind === "due" ? state.rest : undefined;
  return rest === undefined ? null : toSeconds(rest.until);
}

function attemptView(attempt: Attempt, presentUrl: string, finishedAt: number, reader: TaskReader) {
  return {
    number: attempt.number,
    series: attempt.series,
    ...optional("url", attempt.url === presentUrl ? null : attempt.url),
    ...timesView(attempt, finishedAt),
    duration_ms: attempt.durationMs,
    outcome: attempt.outcome,
    ...optional("cause", causeOf(attempt)),
    ...optional("status_code", attempt.statusCode),
    ...optional("cloudflare_error", attempt.cloudflareError),
    ...(reader === "operator" && optional("answer", answerView(attempt.answer))),
    ...optional("response_excerpt", reader === "operator" ? attempt.responseExcerpt : null),
    ...optional("ordered_by", reader === "operator" ? attempt.keyName : null),
  };
}

function answerView(answer: AnswerHeaders | null) {
  if (answer === null) return null;
  return {
    ...optional("content_type", answer.contentType),
    ...optional("location_host", answer.locationHost),
    ...optional("retry_after", answer.retryAfter),
  };
}

/** Returns the start of an attempt, its delay after the planned time, and its delay after the end of the task. */
function timesView({ dueAt, startedAt }: Pick<Attempt, "dueAt" | "startedAt">, finishedAt: number) {
  return {
    started_at: toSeconds(startedAt),
    late_ms: startedAt - dueAt,
    after_ms: startedAt - finishedAt,
  };
}

function openAttemptView({ state, series }: Callback, finishedAt: number, reader: TaskReader) {
  if (state.kind !== "in_flight") return [];
  const orderedBy = reader === "operator" ? series.keyName : null;
  const { number } = state;
  const attempt = { number, series: series.number, ...timesView(state, finishedAt) };
  return [{ ...attempt, ...optional("ordered_by", orderedBy) }];
}

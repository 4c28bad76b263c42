import type { PollAnswer } from "../core/events/event.ts";
import type { Poll } from "../core/step.ts";
import type { Job } from "../core/record/upstream.ts";
import { PROVIDERS } from "../providers/registry.ts";
import type { ErrorText } from "../providers/failure.ts";
import { toNews } from "../providers/observation.ts";
import { type Connection, type PollAdapter, type Reading, UNCLEAR } from "../providers/provider.ts";
import { SANDBOX, sandboxObservation } from "../providers/sandbox.ts";
import { errorTextOf } from "../config/config.ts";
import type { Runtime } from "../config/runtime.ts";
import { get, type Received } from "./http.ts";

/** Some outputs take a second request, after the one for the status. */
const MAX_REQUESTS = 3;
const MAX_RETRY_AFTER_MS = 3_600_000;
const UNANSWERED: PollAnswer = { kind: "unanswered" };

/** Asks the provider after a job, within the time of one attempt. Whatever comes back is an answer. */
export async function askUpstream(
  poll: Poll,
  { config }: Runtime,
  aborted: AbortSignal,
): Promise<PollAnswer> {
  const connection = config.connections.get(poll.connection);
  if (connection === undefined) return UNANSWERED;
  const errorText = errorTextOf(config, connection);
  if (connection.provider === SANDBOX) {
    const observation = sandboxObservation(poll.job, Date.now() - poll.createdAt);
    return answerOf({ kind: "observed", observation }, null, errorText);
  }
  const adapter = PROVIDERS.get(connection.provider)?.polls;
  if (adapter === undefined || connection.key === null) return UNANSWERED;
  const deadline = new AbortController();
  const timer = setTimeout(() => deadline.abort(), config.callbackTimeoutMs);
  const signal = AbortSignal.any([aborted, deadline.signal]);
  try {
    return await ask(poll, connection, connection.key, adapter, signal, errorText);
  } finally {
    clearTimeout(timer);
    // Frees the connection of a body that was not read to its end.
    deadline.abort();
  }
}

async function ask(
  { job }: Poll,
  { baseUrl }: Connection,
  key: string,
  adapter: PollAdapter,
  signal: AbortSignal,
  errorText: ErrorText,
): Promise<PollAnswer> {
  const headers = await adapter.headers(key, Date.now());
  let path = adapter.path(job);
  let { read } = adapter;
  for (let requests = 0; requests < MAX_REQUESTS; requests++) {
    const received = await get(`${baseUrl}${path}`, headers, signal);
    if (received === null) return UNANSWERED;
    const reading = refusalOf(received, adapter) ?? read(received, job);
    if (reading.kind !== "next") return answerOf(aboutJob(reading, job), received, errorText);
    ({ path, read } = reading);
  }
  return UNANSWERED;
}

/** What a status alone says; everything else the adapter reads. */
function refusalOf({ status }: Received, { readsErrors }: PollAdapter): Reading | null {
  if (status === 401 || status === 403) return { kind: "unauthorized" };
  if (status === 429) return { kind: "limited" };
  const isError = status >= 400 && status < 500;
  const isReadable = (status >= 200 && status < 300) || (isError && readsErrors === true);
  return isReadable ? null : UNCLEAR;
}

/** An answer about another job says nothing about this one. */
function aboutJob(reading: FinalReading, { id }: Job): FinalReading {
  if (reading.kind !== "observed") return reading;
  const { jobId } = reading.observation;
  return jobId === null || jobId === id ? reading : UNCLEAR;
}

type FinalReading = Exclude<Reading, { readonly kind: "next" }>;

function answerOf(
  reading: FinalReading,
  received: Received | null,
  errorText: ErrorText,
): PollAnswer {
  switch (reading.kind) {
    case "observed": {
      const news = toNews(reading.observation, errorText);
      return news === null ? UNANSWERED : { kind: "news", news };
    }
    case "limited":
      return { kind: "limited", retryAfterMs: retryAfterMs(received?.retryAfter ?? null) };
    case "unauthorized":
      return { kind: "unauthorized" };
    case "unclear":
      return UNANSWERED;
  }
}

/** `Retry-After` (RFC 9110 §10.2.3): seconds or a date; at most an hour is believed. */
function retryAfterMs(header: string | null): number | null {
  if (header === null) return null;
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Number.isNaN(ms) ? null : Math.min(Math.max(ms, 0), MAX_RETRY_AFTER_MS);
}

import type { PollAnswer } from "../core/events/event.ts";
import type { Poll } from "../core/duties/poll.ts";
import { HOUR_MS, SECOND_MS } from "../core/time.ts";
import { isAbout, type Job } from "../core/record/upstream.ts";
import type { ErrorText } from "../providers/failure.ts";
import { progressIn, toNews } from "../providers/observation.ts";
import { readPollAnswer } from "../providers/poll-answer.ts";
import {
  type AnswerReader,
  type Connection,
  type PollAdapter,
  UNCLEAR,
} from "../providers/provider.ts";
import { errorTextOf } from "../config/config.ts";
import type { Runtime } from "../config/runtime.ts";
import { POLL_TIMEOUT_MS, withDeadline } from "../timeout.ts";
import { get, type GetAnswer } from "./http.ts";
import { type FinalReading, namesTask } from "./named-task.ts";

/** Largest number of requests in one poll, for a provider that needs several, e.g. for status and output. */
const MAX_REQUESTS = 3;
const MAX_RETRY_AFTER_MS = HOUR_MS;
/** Largest length of an unknown state that is logged and stored, in characters. */
const MAX_WORD_CHARS = 32;
const UNANSWERED: PollAnswer = { kind: "unanswered" };

/**
 * Asks the provider about a job, for 10 seconds at most. Never throws: a failure is an answer too. The times of
 * the polls are planned in core/polls, and their answers are applied in core/events/polling.ts.
 */
export async function askUpstream(
  poll: Poll,
  { config, keyring }: Runtime,
  aborted: AbortSignal,
): Promise<PollAnswer> {
  const connection = config.connections.get(poll.connection);
  if (connection === undefined) return UNANSWERED;
  const errorText = errorTextOf(config, connection);
  const { provider, key } = connection;
  if (provider.polls === null) {
    const observation = provider.simulation.observe(poll.job, Date.now() - poll.createdAt);
    const head = { status: 200, retryAfter: null };
    return pollAnswer({ kind: "observed", observation }, head, errorText);
  }
  if (key === null) return UNANSWERED;
  return withDeadline(
    POLL_TIMEOUT_MS,
    async (signal) => {
      const answer = await askProvider(poll.job, connection, key, provider.polls, signal);
      if (answer === null) return UNANSWERED;
      const { reading, head } = answer;
      const isOurs = poll.purpose !== "kept_job" || (await namesTask(reading, poll, keyring));
      return pollAnswer(isOurs ? reading : UNCLEAR, head, errorText);
    },
    aborted,
  );
}

/**
 * The last answer of a poll, which may take several requests: what the adapter has read from it, its HTTP
 * status and its `Retry-After` header.
 */
export interface Answered {
  readonly reading: FinalReading;
  readonly head: Pick<GetAnswer, "status" | "retryAfter">;
}

/** Sends the requests of a poll; returns null when one is not answered. */
export async function askProvider(
  job: Job,
  { baseUrl }: Connection,
  key: string,
  adapter: PollAdapter,
  signal: AbortSignal,
): Promise<Answered | null> {
  const headers = await adapter.headers(key, Date.now());
  let path = adapter.path(job);
  const isLarge = adapter.echoesInput === true;
  let reader: AnswerReader = adapter;
  for (let requests = 0; requests < MAX_REQUESTS; requests++) {
    const answer = await get({ url: `${baseUrl}${path}`, headers, isLarge }, signal);
    if (answer === null) return null;
    const reading = readPollAnswer(reader, answer, job, baseUrl);
    if (reading.kind !== "next") return { reading: checkJob(reading, job), head: answer };
    path = reading.path;
    reader = reading;
  }
  return null;
}

/** Returns what the adapter has read from an answer, or `unclear` when the answer is about another job. */
function checkJob(reading: FinalReading, job: Job): FinalReading {
  if (reading.kind !== "observed") return reading;
  return isAbout(job, reading.observation.jobId) ? reading : UNCLEAR;
}

/**
 * Converts what the adapter has read from a response of the provider to the answer of the poll, with which
 * the task then decides.
 */
export function pollAnswer(
  reading: FinalReading,
  { status, retryAfter }: Pick<GetAnswer, "status" | "retryAfter">,
  errorText: ErrorText,
): PollAnswer {
  switch (reading.kind) {
    case "observed": {
      const { observation } = reading;
      const news = toNews(observation, errorText);
      if (news === null) return unclear(status, observation.state);
      return { kind: "news", news, ...progressIn(observation) };
    }
    case "limited":
      return { kind: "limited", retryAfterMs: retryAfterMs(retryAfter) };
    case "unauthorized":
      return { kind: "unauthorized" };
    case "unclear":
      return status >= 500 ? UNANSWERED : unclear(status, reading.word ?? null);
  }
}

/**
 * Builds the answer to a poll when the provider's response was not understood.
 * @param word state or code that the response names; null for none.
 */
function unclear(statusCode: number, word: string | null): PollAnswer {
  return { kind: "unclear", statusCode, word: word?.slice(0, MAX_WORD_CHARS) ?? null };
}

/**
 * Returns the wait that the header `Retry-After` names as seconds or as a date (RFC 9110 §10.2.3), in
 * milliseconds, at most one hour; null when it names none.
 */
function retryAfterMs(header: string | null): number | null {
  if (header === null) return null;
  const ms = /^\d+$/.test(header) ? Number(header) * SECOND_MS : Date.parse(header) - Date.now();
  return Number.isNaN(ms) ? null : Math.min(Math.max(ms, 0), MAX_RETRY_AFTER_MS);
}

import type { PollAnswer } from "../core/events/event.ts";
import type { Poll } from "../core/duties/poll.ts";
import { firstChars } from "../core/text.ts";
import { HOUR_MS, SECOND_MS } from "../core/time.ts";
import { isInputLink } from "../core/record/input-links.ts";
import { isAbout, type Job } from "../core/record/upstream.ts";
import { type GivenAnswer, withOutputOf } from "../providers/inline-output.ts";
import { type NewsRules, progressIn, toNews } from "../providers/observation.ts";
import { readPollAnswer } from "../providers/poll-answer.ts";
import type { Answer } from "../providers/provider-answer.ts";
import {
  type AnswerReader,
  type Connection,
  type PollAdapter,
  UNCLEAR,
} from "../providers/provider.ts";
import { type NewsConfig, newsRulesOf } from "../config/news-rules.ts";
import type { Runtime } from "../config/runtime.ts";
import { POLL_TIMEOUT_MS, withDeadline } from "../lib/timeout.ts";
import { askForFile, withContent } from "./content-proof.ts";
import { get, type GetRequest } from "./http.ts";
import { type Answered, type FinalReading, namesTask } from "./named-task.ts";

/**
 * Largest number of requests in one poll. Some providers need several, e.g. one for the status and one for the
 * output.
 */
const MAX_REQUESTS = 3;
const MAX_RETRY_AFTER_MS = HOUR_MS;
/** Largest length of an unknown job state that is logged and stored, in characters. */
const MAX_WORD_CHARS = 32;
const UNANSWERED = { kind: "unanswered" } as const satisfies PollAnswer;

/**
 * Asks the provider for the state of a job. This takes at most 10 seconds, and at most 30 more when the content path of
 * the job (the path with its output) is asked too. It never throws: a failure is returned as an answer. The times of
 * polls are planned in core/polls; core/events/polling.ts applies the answers.
 * @param connection connection of the job, with the key of the customer if the job was submitted with this key.
 * @param ask sends the requests of the poll.
 */
export async function askUpstream(
  poll: Poll,
  connection: Connection,
  { config, keyring }: Pick<Runtime, "config" | "keyring">,
  aborted: AbortSignal,
  ask: Ask = get,
): Promise<PollAnswer> {
  const rules = newsRulesOf(config, connection);
  const { provider, key } = connection;
  if (provider.polls === null) {
    const observation = provider.simulation.observe(poll.job, Date.now() - poll.createdAt);
    const head = { status: 200, headers: new Headers() };
    return pollAnswer({ kind: "observed", observation }, head, rules);
  }
  if (key === null) return UNANSWERED;
  const { polls } = provider;
  const stated = await withDeadline(
    POLL_TIMEOUT_MS,
    (signal) => askProvider(poll.job, connection, key, polls, signal, ask),
    aborted,
  );
  if (stated === null) return UNANSWERED;
  const isInput = (link: string) => isInputLink(link, poll);
  const asking = { connection, key, adapter: polls, config, isInput };
  const answered = await withFile(stated, asking, aborted);
  if (answered === null) return UNANSWERED;
  const { reading, head } = answered;
  const isOurs = poll.purpose !== "kept_job" || (await namesTask(reading, poll, keyring, polls));
  return pollAnswer(isOurs ? reading : UNCLEAR, head, rules);
}

/**
 * Function that sends one request of a poll and returns the upstream's answer; null when no answer comes. It is `get`,
 * or a function that returns an answer that has come already.
 */
export type Ask = (request: GetRequest, signal: AbortSignal) => Promise<Answer | null>;

/**
 * Connection, key and configuration that are needed to ask at the content path of a job (the path with its output)
 * whether there is a file.
 */
export interface FileQuestion {
  readonly connection: Connection;
  readonly key: string;
  readonly adapter: PollAdapter;
  readonly config: NewsConfig;
  /** Tells whether a link is one that the job got as input. */
  readonly isInput: (link: string) => boolean;
}

/**
 * Returns what the answers about a job show after its content path (the path with its output) was asked too. The
 * content path is asked only if the outcome depends on it and the relay can give clients links to it; otherwise the
 * answer about the job is returned unchanged. Null when no answer comes from the content path.
 * @param answered the answer about the job.
 */
export async function withFile(
  answered: Answered,
  { connection, key, adapter, config, isInput }: FileQuestion,
  aborted: AbortSignal | null = null,
): Promise<Answered | null> {
  if (newsRulesOf(config, connection).areKeyedLinksServed !== true) return answered;
  return withContent(answered, isInput, async (url) =>
    askForFile(url, await adapter.headers(key, Date.now()), config, aborted),
  );
}

/**
 * Sends the requests of a poll, and returns the last answer with what the adapter has read from it. Null when one of
 * the requests gets no answer, and when the poll would need more than `MAX_REQUESTS`.
 * @param ask sends one of the requests; tools pass a function that returns known answers instead.
 */
export async function askProvider(
  job: Job,
  { baseUrl }: Connection,
  key: string,
  adapter: PollAdapter,
  signal: AbortSignal,
  ask: Ask = get,
): Promise<Answered | null> {
  const headers = await adapter.headers(key, Date.now());
  let path = adapter.path(job);
  const answers: GivenAnswer[] = [];
  let reader: AnswerReader = adapter;
  for (let requests = 0; requests < MAX_REQUESTS; requests++) {
    const body = requests === 0 ? adapter.body?.(job) : undefined;
    const url = `${baseUrl}${path}`;
    const request = { url, headers, isLarge: true };
    const answer = await ask(body === undefined ? request : { ...request, body }, signal);
    if (answer === null) return null;
    answers.push({ body: answer.body, url: body === undefined ? url : null });
    const reading = readPollAnswer(reader, answer, job, baseUrl);
    if (reading.kind !== "next") {
      return { reading: withOutput(checkJob(reading, job), answers, baseUrl), head: answer };
    }
    path = reading.path;
    reader = reading;
  }
  return null;
}

/**
 * Returns what the adapter has read from the answers of a poll. If the job has succeeded and the answers contain no
 * link to an output, the output inside the answers is added.
 */
function withOutput(
  reading: FinalReading,
  answers: readonly GivenAnswer[],
  baseUrl: string,
): FinalReading {
  if (reading.kind !== "observed") return reading;
  return { ...reading, observation: withOutputOf(reading.observation, answers, baseUrl) };
}

/**
 * Returns what the adapter has read from an answer about a job. If the answer is about another job, `unclear` is
 * returned instead.
 */
function checkJob(reading: FinalReading, job: Job): FinalReading {
  if (reading.kind !== "observed") return reading;
  return isAbout(job, reading.observation.jobId) ? reading : UNCLEAR;
}

/**
 * Returns the result of a poll, which an event then brings to the task, made from what the adapter has read in the
 * provider's last response.
 */
export function pollAnswer(
  reading: FinalReading,
  { status, headers }: Pick<Answer, "status" | "headers">,
  rules: NewsRules,
): PollAnswer {
  switch (reading.kind) {
    case "observed": {
      const { observation } = reading;
      const news = toNews(observation, rules);
      if (news === null) return unclear(status, observation.state);
      return { kind: "news", news, ...progressIn(observation) };
    }
    case "limited":
      return { kind: "limited", retryAfterMs: retryAfterMs(headers) };
    case "unauthorized":
      return { kind: "unauthorized" };
    case "unclear":
      return status >= 500 ? unanswered(headers) : unclear(status, reading.word ?? null);
  }
}

/**
 * Returns the result of a poll when the provider itself has failed (status 5xx), with the wait that the headers of its
 * answer demand.
 */
function unanswered(headers: Headers): PollAnswer {
  const waitMs = retryAfterMs(headers);
  return waitMs === null ? UNANSWERED : { ...UNANSWERED, retryAfterMs: waitMs };
}

/**
 * Returns the result of a poll for a response of the provider that was not understood.
 * @param word job state or code in the response; null when it contains none.
 */
function unclear(statusCode: number, word: string | null): PollAnswer {
  return {
    kind: "unclear",
    statusCode,
    word: word === null ? null : firstChars(word, MAX_WORD_CHARS),
  };
}

/**
 * Returns the wait that a header `Retry-After` states in seconds or by a date (RFC 9110 §10.2.3), in milliseconds, at
 * most one hour. Null when there is no such header.
 */
export function retryAfterMs(headers: Headers): number | null {
  const header = headers.get("Retry-After");
  if (header === null) return null;
  const ms = /^\d+$/.test(header) ? Number(header) * SECOND_MS : Date.parse(header) - Date.now();
  return Number.isNaN(ms) ? null : Math.min(Math.max(ms, 0), MAX_RETRY_AFTER_MS);
}

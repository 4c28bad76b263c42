import { hookEvent } from "../../src/api/hooks/hook-event.ts";
import { type NewsConfig, newsRulesOf } from "../../src/config/news-rules.ts";
import type { PollAnswer } from "../../src/core/events/event.ts";
import { mediaTypeOf } from "../../src/core/output-metadata/media-type.ts";
import { type JsonObject, parseJson } from "../../src/core/json.ts";
import { endOfRefusal, type RefusalClass } from "../../src/core/record/refusal.ts";
import { isAbout, type Job, type UpstreamNews } from "../../src/core/record/upstream.ts";
import { scanBody } from "../../src/api/submit/json-body.ts";
import { isInputLink, withoutInputLinks } from "../../src/core/record/input-links.ts";
import { AnswerScanner } from "../../src/objects/call/answer-scanner.ts";
import { askProvider, pollAnswer } from "../../src/outbound/ask-upstream.ts";
import { contentAnswer, withContent } from "../../src/outbound/content-proof.ts";
import type { FinalReading } from "../../src/outbound/named-task.ts";
import { readProviderAnswer } from "../../src/outbound/http.ts";
import type { Connection, Hook, UpstreamProvider } from "../../src/providers/provider.ts";
import { toNews } from "../../src/providers/observation.ts";
import {
  plainReadingOf,
  type SubmitAdapter,
  type SubmitReading,
} from "../../src/providers/submit.ts";
import { finalRefusalEnd } from "../../src/providers/submit-refusal.ts";
import { bytesOf } from "../../src/security/encoding.ts";
import type { ReceivedBody } from "./body-file.ts";

/** What the relay reads in a body, in the form of `expect` in a file of a corpus. */
export interface BodyReading {
  /**
   * `no_output`: the job has succeeded, and has no output that the relay could deliver. `open`: an answer after which
   * the relay polls again. `ignored`: a hook that changes nothing. `started` and `refused`: an answer to a call that
   * starts a job, or proves that none was started.
   */
  readonly status: UpstreamNews["status"] | "open" | "ignored" | "started" | "refused";
  readonly urls?: readonly string[];
  /** Media types of the files that the answer to a call contains. They are outputs too. */
  readonly files?: readonly string[];
  readonly metadata?: JsonObject;
  readonly usage?: Readonly<Record<string, number>>;
  readonly error?: {
    readonly code: string;
    readonly category: string;
    readonly retryable: boolean;
    readonly message: string;
  };
  /**
   * True for a hook that says the end of a job, and whose origin does not suffice, and for one that is not understood: a
   * poll decides.
   */
  readonly needs_poll?: true;
  /** Id of the job that the answer to a call starts. */
  readonly starts?: string;
  readonly refusal?: RefusalClass;
  /** Why the body tells nothing about the job. Absent when it tells something. */
  readonly because?: string;
}

/** A relay with public links for outputs that open only with the key, which it may fetch from loopback too. */
const CONFIG: Omit<NewsConfig, "areOutputsKept"> = {
  allowLocalCallbacks: true,
  allowIpCallbacks: false,
  publicUrl: "https://relay.example.com",
  outputsOrigin: "https://relay.example.com",
  isListenOn: false,
  isErrorTextGeneric: false,
};
const KEY = "access-of-the-player:secret-of-the-player";
const TASK_ID = "0c3f8a52-5d0e-4b6c-9b2e-3a1f5d7e9c11";
/** Answer at a content path that opens. */
const A_FILE = { http_status: 206, headers: { "content-type": "video/mp4" }, text: "f" };
/** Answer at a content path of a job whose output is in the answer about the job. */
const NO_FILE = { http_status: 404, text: "" };
/** Statuses of HTTP that have no body. */
const WITHOUT_BODY = [204, 205, 304];

/**
 * Reads a body with a provider's adapter as the relay reads it, without a request.
 * @param baseUrl base URL of the connection.
 * @param areOutputsKept true for a relay with a bucket for outputs.
 */
export async function playBody(
  provider: UpstreamProvider,
  baseUrl: string,
  given: ReceivedBody,
  areOutputsKept = false,
): Promise<BodyReading> {
  const config = { ...CONFIG, areOutputsKept };
  const connection: Connection = {
    name: provider.name,
    provider,
    baseUrl,
    key: KEY,
    webhookSecret: null,
    userId: null,
    jwksUrl: null,
    pollsPerMinute: null,
    inFlight: null,
    queueLimit: 0,
    pool: null,
  };
  const job: Job = { id: given.job, endpoint: given.endpoint ?? null };
  switch (given.transport) {
    case "hook":
      return playHook(provider, connection, job, given, config);
    case "poll":
      return playPoll(provider, connection, job, given, config);
    case "answer":
      return playAnswer(provider, connection, given, config);
  }
}

/** Reads the answer to a call, as a relay does that stores the files in it. */
function playAnswer(
  { submits }: UpstreamProvider,
  connection: Connection,
  given: ReceivedBody,
  config: NewsConfig,
): BodyReading {
  const refused = submits && refusedReading(submits, connection, given, config);
  if (refused != null) return refused;
  const { json, files } = dividedAnswer(given);
  const reading = answerReading(submits, given, json, connection.baseUrl);
  if (reading.kind === "job") return { status: "started", starts: reading.job.id };
  if (reading.kind !== "result") return { status: "open", because: reading.kind };
  const rules = { ...newsRulesOf(config, connection), isAnswerStored: true };
  const news = toNews(reading.observation, rules);
  if (news === null) return { status: "open", because: "unknown state" };
  return news.status === "completed" ? { ...readingOf(news), files } : readingOf(news);
}

/** Reads the answer to a call as a refusal. Null when it is none. */
function refusedReading(
  submits: SubmitAdapter,
  connection: Connection,
  given: ReceivedBody,
  config: NewsConfig,
): BodyReading | null {
  const body = parseJson(textOf(given));
  const refusal = submits.refusal(given.http_status, body);
  if (refusal === null) return null;
  const rules = newsRulesOf(config, connection);
  const { error, failure } =
    (refusal === "final" ? finalRefusalEnd(submits, given.http_status, body, rules) : null) ??
    endOfRefusal(refusal, given.http_status, false);
  return { status: "refused", refusal, error: { ...error, ...failure } };
}

/** Divides an answer into JSON and the media types of the files in it. What is not JSON is a file itself. */
function dividedAnswer(given: ReceivedBody) {
  const text = textOf(given);
  if (parseJson(text) === undefined) return { json: undefined, files: [mediaTypeIn(given)] };
  let count = 0;
  const scanner = new AnswerScanner(TASK_ID, () => ++count);
  const files: { readonly mediaType: string | null; readonly pieces: Uint8Array[] }[] = [];
  for (const part of scanner.push(bytesOf(text))) {
    if (part.kind === "file") files.push({ mediaType: part.mediaType, pieces: [] });
    if (part.kind === "bytes") files.at(-1)?.pieces.push(part.bytes);
    if (part.kind === "withdrawn") files.length = count = part.from - 1;
  }
  const types = files.map(({ mediaType, pieces }) => mediaTypeOf(bytesOf(...pieces), mediaType));
  return { json: parseJson(scanner.end()), files: types };
}

function answerReading(
  submits: UpstreamProvider["submits"],
  given: ReceivedBody,
  json: unknown,
  baseUrl: string,
): SubmitReading {
  const path = given.submitted?.path ?? "";
  const target = submits?.target(path) ?? null;
  const isSuccess = given.http_status >= 200 && given.http_status < 300;
  if (submits === undefined || target === null || !isSuccess) return { kind: "unclear" };
  return json === undefined
    ? plainReadingOf(target, mediaTypeIn(given))
    : submits.readAnswer(json, path, baseUrl);
}

function mediaTypeIn({ headers }: ReceivedBody): string {
  return (headers["content-type"] ?? "").split(";", 1).join("").trim();
}

async function playPoll(
  provider: UpstreamProvider,
  connection: Connection,
  job: Job,
  given: ReceivedBody,
  config: NewsConfig,
): Promise<BodyReading> {
  const answers = [...(given.first === undefined ? [] : [given.first]), given];
  const { signal } = new AbortController();
  const ask: Parameters<typeof askProvider>[5] = async (request) => {
    const answer = answers.shift();
    return answer === undefined ? null : readProviderAnswer(responseOf(answer), request, signal);
  };
  const answered = await askProvider(job, connection, KEY, provider.polls, signal, ask);
  if (answered === null) return { status: "open", because: "one more request is needed" };
  const inputLinks = inputLinksOf(given);
  const isInput = (link: string) => isInputLink(link, { inputLinks });
  const asked = await withContent(answered, isInput, async () =>
    contentAnswer(responseOf(given.content ?? contentBeside(answered.reading))),
  );
  if (asked === null) return { status: "open", because: "the content path has not answered" };
  const answer = pollAnswer(asked.reading, asked.head, newsRulesOf(config, connection));
  return answer.kind === "news"
    ? readingOf(withoutInputLinks(answer.news, { inputLinks }))
    : openReading(answer);
}

/** Returns the answer at the content path of a job where the file of the corpus names none. */
function contentBeside(reading: FinalReading) {
  if (reading.kind !== "observed") return A_FILE;
  const { isText = false, inlineOutputs = [] } = reading.observation;
  return isText || inlineOutputs.length > 0 ? NO_FILE : A_FILE;
}

function playHook(
  provider: UpstreamProvider,
  connection: Connection,
  job: Job,
  given: ReceivedBody,
  config: NewsConfig,
): BodyReading {
  const adapter = provider.hooks;
  if (adapter === null) return { status: "ignored", because: "the provider sends no hooks" };
  const readBody = async () => new Uint8Array(new TextEncoder().encode(textOf(given)));
  const headers = new Headers(given.headers);
  const hook: Hook = { path: `/hooks/${provider.name}/task/token`, query: "", headers, readBody };
  const target = { adapter, connection, taskId: given.task ?? TASK_ID, submissionId: null };
  const event = hookEvent(target, parseJson(textOf(given)), hook, true, config);
  if (typeof event === "string") return { status: "ignored", because: event };
  if (!isAbout(job, event.jobId)) return { status: "ignored", because: "other_job" };
  if (event.unread !== undefined) {
    return { status: "open", needs_poll: true, because: event.unread };
  }
  const reading = readingOf(withoutInputLinks(event.news, { inputLinks: inputLinksOf(given) }));
  const isEnd = reading.error !== undefined || reading.urls !== undefined;
  const isDecided = !isEnd || adapter.assurance === "body-signed";
  return isDecided ? reading : { ...reading, needs_poll: true };
}

/** Returns the digests of the links in the call that has started the job. */
function inputLinksOf({ submitted }: ReceivedBody): readonly string[] {
  if (submitted === undefined) return [];
  const scanned = scanBody(new TextEncoder().encode(JSON.stringify(submitted.body)), []);
  return scanned.ok ? scanned.value.linkDigests : [];
}

function readingOf(news: UpstreamNews): BodyReading {
  const usage = "usage" in news && news.usage !== undefined ? { usage: news.usage } : {};
  switch (news.status) {
    case "queued":
    case "processing":
      return { status: news.status };
    case "no_output":
      return { status: news.status, ...usage };
    case "completed":
      return { status: news.status, urls: news.urls, metadata: news.metadata, ...usage };
    case "failed": {
      const { category, retryable } = news.failure;
      return { status: news.status, error: { ...news.error, category, retryable }, ...usage };
    }
  }
}

function openReading(answer: Exclude<PollAnswer, { readonly kind: "news" }>): BodyReading {
  const word = answer.kind === "unclear" && answer.word !== null ? `: ${answer.word}` : "";
  return { status: "open", because: `${answer.kind}${word}` };
}

type AnswerContent = Pick<ReceivedBody, "http_status" | "body" | "text"> & {
  readonly headers?: ReceivedBody["headers"] | undefined;
};

function responseOf(answer: AnswerContent): Response {
  const { http_status: status, headers = {} } = answer;
  const body = WITHOUT_BODY.includes(status) ? null : textOf(answer);
  return new Response(body, { status, headers });
}

function textOf({ body, text }: Pick<ReceivedBody, "body" | "text">): string {
  return text ?? JSON.stringify(body);
}

// Outgoing HTTP requests. Only this file of the Worker may call `fetch`; lint enforces it. The scripts of the pages
// call `fetch` too, but in browsers.

import {
  type AnswerHeaders,
  type AttemptResult,
  unansweredAttempt,
} from "../core/record/callback.ts";
import { type JsonObject, type JsonValue, parseJson } from "../core/json.ts";
import { cloudflareErrorOf, outcomeOfAnswer } from "../core/record/outcome.ts";
import { wellFormed } from "../core/text.ts";
import { errorText, log } from "../lib/log.ts";
import type { Answer } from "../providers/provider-answer.ts";
import { readBodyUpTo, readUpTo, streamOf, type StreamStart } from "../lib/stream.ts";
import { isDeadlinePassed, withDeadline } from "../lib/timeout.ts";
import { takeReadSlot } from "./read-slots.ts";

export interface PostRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface GetRequest {
  readonly url: string;
  /** JSON body of the request, which is then a POST. Absent for a GET. */
  readonly body?: JsonValue;
  readonly headers?: Readonly<Record<string, string>>;
  /** True when up to 8 MiB of the answer are read. False or absent means up to 1 MiB. */
  readonly isLarge?: boolean;
  /** Settings of Cloudflare's cache for the request. */
  readonly cf?: RequestInitCfProperties;
}

/** A request with which the relay changes a job at a provider, e.g. cancels it. */
export interface ChangeRequest {
  readonly method: "POST" | "PUT" | "DELETE";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON body of the request. Absent for a request without a body. */
  readonly body?: JsonObject;
}

const MAX_RESPONSE_READ_BYTES = 4096;
const MAX_EXCERPT_BYTES = 1024;
const MAX_ANSWER_BYTES = 1_048_576;
/**
 * Largest accepted answer, in bytes, for those answers of a provider that may contain whole files: outputs, or copies
 * of the job's input.
 */
const MAX_LARGE_ANSWER_BYTES = 8_388_608;
const MAX_HEADER_CHARS = 64;
const MAX_HOST_CHARS = 128;
const MAX_LOCATION_CHARS = 512;

/** Service that sends each request on a new connection. Null when the platform offers no such service. */
let newConnections: Pick<Fetcher, "fetch"> | null = null;

/**
 * Sets the service through which requests that change something are sent from now on. Null means that they are sent
 * without a service.
 */
export function sendChangesThrough(service: typeof newConnections): void {
  newConnections = service;
}

/**
 * Sends one request that changes something, on a new connection if `newConnections` is set. On an idle connection that
 * the other side is just closing, the request could get lost, and the relay could not know whether the other side has
 * read it.
 */
function fetchChange(url: string, init: RequestInit): Promise<Response> {
  return newConnections === null ? fetch(url, init) : newConnections.fetch(url, init);
}

/**
 * Sends one POST without following redirects. One deadline covers the request and the reading of the answer. It never
 * throws: a failure of the receiver is returned as a result. The HTTP status decides the outcome, unless Cloudflare
 * answered instead of the receiver (core/record/outcome.ts). Only an excerpt of the answer's body is stored.
 */
export function post(
  request: PostRequest,
  timeoutMs: number,
  aborted: AbortSignal | null = null,
): Promise<AttemptResult> {
  return withDeadline(timeoutMs, (signal) => postOnce(request, signal), aborted);
}

/** An answer of a provider with its body as it was received. */
export interface BodiedAnswer extends Answer {
  /** Bytes of the body of the answer. Null when the body is larger than permitted. */
  readonly bytes: Uint8Array<ArrayBuffer> | null;
}

/**
 * Sends one GET, or a POST that only asks and has a JSON body, without following redirects. Most of these requests
 * contain credentials.
 * @returns the answer; null when none came before `signal` aborted.
 */
export async function get(request: GetRequest, signal: AbortSignal): Promise<BodiedAnswer | null> {
  const { url, headers, body: question, cf } = request;
  const accepting = { Accept: "application/json", "User-Agent": "TaskRelay/1", ...headers };
  try {
    const asked =
      question === undefined
        ? { headers: accepting }
        : {
            method: "POST",
            headers: { "Content-Type": "application/json", ...accepting },
            body: JSON.stringify(question),
          };
    const init = { ...asked, redirect: "manual", signal } as const;
    const response = await fetch(url, cf === undefined ? init : { ...init, cf });
    return await readProviderAnswer(response, request, signal);
  } catch {
    return null;
  }
}

/** Reads the response of a provider to a request about a job. */
export async function readProviderAnswer(
  response: Response,
  request: GetRequest,
  signal: AbortSignal,
): Promise<BodiedAnswer> {
  const { status, headers } = response;
  const read = await readJson(response, request, signal);
  return { status, headers, body: read?.json, bytes: read?.bytes ?? null };
}

/**
 * Sends one request that changes a job at a provider, without following redirects.
 * @returns the answer; null when none came before `signal` aborted.
 */
export async function send(request: ChangeRequest, signal: AbortSignal): Promise<Answer | null> {
  const { method, url, headers, body } = request;
  const json = body === undefined ? null : JSON.stringify(body);
  const sent = json === null ? headers : { "Content-Type": "application/json", ...headers };
  const all = { Accept: "application/json", "User-Agent": "TaskRelay/1", ...sent };
  try {
    const init = { method, headers: all, body: json, redirect: "manual", signal } as const;
    return await readProviderAnswer(await fetchChange(url, init), { url }, signal);
  } catch {
    return null;
  }
}

/**
 * Sends one GET for a file without following redirects. The body of the answer is left for the caller to read.
 * @param signal ends the request, and the reading of its answer.
 * @returns null when no answer came before `signal` aborted, or the connection was lost.
 */
export async function getStream(
  url: string,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Response | null> {
  // The length of a packed body would not be that of the file.
  const accepting = { "User-Agent": "TaskRelay/1", "Accept-Encoding": "identity", ...headers };
  try {
    return await fetch(url, { headers: accepting, redirect: "manual", signal });
  } catch {
    return null;
  }
}

/**
 * Returns the function that sends requests to the store of outputs.
 * @param service service that reaches the store also at a private address. Without one only a public address is reached.
 */
export function storeFetch(
  service: Pick<Fetcher, "fetch"> | null,
): (request: Request) => Promise<Response> {
  return (request) => (service === null ? fetch(request) : service.fetch(request));
}

/** Body of an answer, and the JSON value in it. The value is undefined when the body is not JSON. */
interface JsonBody {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly json: unknown;
}

/**
 * Reads an answer of a provider as JSON. To read and parse more than 1 MiB, a permission is needed that only few
 * requests can have at the same time (read-slots.ts).
 * @returns null when the answer is larger than permitted.
 */
async function readJson(
  { body }: Response,
  { url, isLarge = false }: GetRequest,
  signal: AbortSignal,
): Promise<JsonBody | null> {
  const maxBytes = isLarge ? MAX_LARGE_ANSWER_BYTES : MAX_ANSWER_BYTES;
  const answer = await readAnswer(body, maxBytes, signal, ({ bytes }) => {
    if (bytes.length >= maxBytes) return null;
    return { bytes, json: parseJson(new TextDecoder().decode(bytes)) };
  });
  if (answer === null) log({ event: "upstream.too_large", host: new URL(url).host }, "warn");
  return answer;
}

/**
 * Reads an answer of a provider, up to `maxBytes`, and returns the result of applying `use` to it. For more than 1 MiB,
 * reading and `use` wait for a permission that only few requests can have at the same time (read-slots.ts).
 * @param takeMemory reserves memory for the answer before it is read. It is passed if the caller holds the answer in
 * memory.
 */
async function readAnswer<T>(
  body: ReadableStream<Uint8Array> | null,
  maxBytes: number,
  signal: AbortSignal,
  use: (start: StreamStart) => T,
  takeMemory: TakeMemory = async () => undefined,
): Promise<T> {
  const held: (() => void)[] = [];
  try {
    const start = await readUpTo(body, maxBytes, async (length) => {
      if (length < MAX_ANSWER_BYTES || held.length > 0) return;
      await takeMemory(maxBytes, signal);
      held.push(await takeReadSlot(signal));
    });
    return use(start);
  } finally {
    for (const giveBack of held) giveBack();
  }
}

/** A submission (the one call that starts a job) as the upstream gets it. The upload of a file has the same form. */
export interface SubmitRequest {
  readonly url: string;
  readonly headers: Headers;
  /**
   * Body of the submission: its parts in their order, or a stream when the relay does not read the body. Null when the
   * request has no body.
   */
  readonly body: readonly Uint8Array[] | ReadableStream<Uint8Array> | null;
  /** True when up to 8 MiB of the answer are read. False means up to 1 MiB. */
  readonly isLarge: boolean;
  /**
   * Function that reserves memory for an answer of more than 1 MiB before the answer is read. Absent when the caller
   * does not hold the answer in memory.
   */
  readonly takeMemory?: TakeMemory;
}

/**
 * Function that waits until there is memory for this number of bytes. @throws the reason of the abort, when the signal
 * aborts first.
 */
type TakeMemory = (bytes: number, signal: AbortSignal) => Promise<void>;

/** The upstream's answer to a submission. */
export interface SubmitAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** JSON value of the answer's body. Undefined when the body is not JSON, or when only its beginning is known. */
  readonly json: unknown;
  /** True when the body is too long or has broken off, so that only its beginning is known. */
  readonly isCut: boolean;
}

/**
 * Sends a submission once, without following redirects. One deadline covers the call and the reading of the answer.
 * @returns null when no answer came in time, or the connection was lost.
 */
export function submit(request: SubmitRequest, timeoutMs: number): Promise<SubmitAnswer | null> {
  return withDeadline(timeoutMs, async (signal) => {
    try {
      return await submitOnce(request, signal);
    } catch (error) {
      const { host } = new URL(request.url);
      log({ event: "submission.unanswered", host, error: errorText(error) }, "warn");
      return null;
    }
  });
}

/**
 * Sends a client's file to an upstream once, without following redirects, and reads the answer.
 * @param signal ends the call.
 * @returns null when no answer came before `signal` aborted, or the connection was lost.
 */
export async function upload(
  request: SubmitRequest,
  signal: AbortSignal,
): Promise<SubmitAnswer | null> {
  try {
    return await submitOnce(request, signal);
  } catch (error) {
    const { host } = new URL(request.url);
    log({ event: "upload.unanswered", host, error: errorText(error) }, "warn");
    return null;
  }
}

async function submitOnce(request: SubmitRequest, signal: AbortSignal): Promise<SubmitAnswer> {
  return readSubmitAnswer(await sendSubmission(request, signal), request, signal);
}

/**
 * Sends a submission once, without following redirects. The body of the answer is left for the caller to read.
 * @param signal ends the request, and the reading of its answer.
 * @throws when no answer came before `signal` aborted, or the connection was lost.
 */
export function sendSubmission(
  { url, headers, body }: Pick<SubmitRequest, "url" | "headers" | "body">,
  signal: AbortSignal,
): Promise<Response> {
  const sent = body === null || body instanceof ReadableStream ? body : streamOf(body);
  return fetchChange(url, { method: "POST", headers, redirect: "manual", signal, body: sent });
}

/** Reads the upstream's answer to a submission. Only its beginning is read if it is longer than permitted. */
export async function readSubmitAnswer(
  response: Response,
  { isLarge, takeMemory }: Pick<SubmitRequest, "isLarge" | "takeMemory">,
  signal: AbortSignal,
): Promise<SubmitAnswer> {
  const maxBytes = isLarge ? MAX_LARGE_ANSWER_BYTES : MAX_ANSWER_BYTES;
  const use = ({ bytes, isBroken }: StreamStart) => {
    const isCut = isBroken || bytes.length >= maxBytes;
    const json = isCut ? undefined : parseJson(new TextDecoder().decode(bytes));
    return { status: response.status, headers: response.headers, bytes, json, isCut };
  };
  return readAnswer(response.body, maxBytes, signal, use, takeMemory);
}

async function postOnce(
  { url, headers, body }: PostRequest,
  signal: AbortSignal,
): Promise<AttemptResult> {
  try {
    const response = await fetchChange(url, {
      method: "POST",
      headers,
      body,
      redirect: "manual",
      signal,
    });
    return await resultOf(response, url);
  } catch {
    return unansweredAttempt(isDeadlinePassed(signal) ? "timeout" : "unreachable");
  }
}

/**
 * Returns the result of an attempt of a callback from the receiver's response.
 * @param url URL to which the attempt was sent.
 */
export async function resultOf(response: Response, url: string): Promise<AttemptResult> {
  const responseExcerpt = await excerptOf(response);
  const { status } = response;
  const cloudflareError = cloudflareErrorOf(status, responseExcerpt);
  return {
    outcome: outcomeOfAnswer(status, cloudflareError),
    statusCode: status,
    responseExcerpt,
    cloudflareError,
    cause: null,
    answer: answerHeaders(response.headers, url),
    sentDigest: null,
  };
}

/**
 * Returns the headers of a receiver's answer that help to find the cause of a failure. Null when it has none of them.
 */
function answerHeaders(headers: Headers, url: string): AnswerHeaders | null {
  const location = headers.get("Location")?.slice(0, MAX_LOCATION_CHARS);
  const locationHost = location === undefined ? null : (URL.parse(location, url)?.host ?? null);
  const cut = (name: string) => headers.get(name)?.slice(0, MAX_HEADER_CHARS) ?? null;
  const [contentType, retryAfter] = [cut("Content-Type"), cut("Retry-After")];
  if (contentType === null && retryAfter === null && locationHost === null) return null;
  return { contentType, locationHost: locationHost?.slice(0, MAX_HOST_CHARS) ?? null, retryAfter };
}

async function excerptOf(response: Response): Promise<string | null> {
  // A body that ends too early changes nothing, because the HTTP status has already decided the outcome.
  const { bytes } = await readBodyUpTo(response, MAX_RESPONSE_READ_BYTES);
  if (bytes.length === 0) return null;
  const isCut = bytes.length > MAX_EXCERPT_BYTES;
  // With `stream`, the decoder leaves out a character of which the excerpt has only a part.
  const text = new TextDecoder().decode(bytes.subarray(0, MAX_EXCERPT_BYTES), { stream: isCut });
  return text === "" ? null : wellFormed(text);
}

import type { RefusalClass } from "../../core/record/refusal.ts";
import type { UpstreamError } from "../failure.ts";
import { at, booleanAt, idAt, integerAt, listAt, numberAt, textAt } from "../json-fields.ts";
import type { Observation } from "../observation.ts";
import { outputLinks } from "../output-search.ts";
import { phaseOf } from "../phase.ts";
import { readingOfStatus } from "../poll-answer.ts";
import type { Answer } from "../provider-answer.ts";
import { bearer, type Reading, readingOf, type UpstreamProvider } from "../provider.ts";
import {
  jobReadingOf,
  membersAt,
  resultReadingOf,
  type SubmitReading,
  type SubmitTarget,
} from "../submit.ts";
import { refusalOfStatus } from "../submit-refusal.ts";
import { amountsAt } from "../usage.ts";

const VIDEO_TARGET: SubmitTarget = {
  model: { pointer: "/model" },
  endpoint: null,
  parameters: membersAt("", ["aspect_ratio", "duration", "resolution"]),
  answer: "job",
};
/** Description of the call that generates images. If a request asks for base64, the answer contains no links. */
const IMAGE_TARGET: SubmitTarget = {
  model: { pointer: "/model" },
  endpoint: null,
  parameters: membersAt("", ["aspect_ratio"]),
  answer: "result",
  needsCall: { "/response_format": ["b64_json"] },
};
/** Calls with which xAI starts jobs or makes images, by path (https://docs.x.ai/docs/api-reference). */
const TARGETS: ReadonlyMap<string, SubmitTarget> = new Map([
  ["/v1/videos/generations", VIDEO_TARGET],
  ["/v1/videos/edits", VIDEO_TARGET],
  ["/v1/videos/extensions", VIDEO_TARGET],
  ["/v1/images/generations", IMAGE_TARGET],
  ["/v1/images/edits", IMAGE_TARGET],
]);

/** State of a job that has succeeded, also if moderation withholds its video. */
const DONE = "done";

/**
 * Adapter for xAI (Grok Imagine), which sends no hooks (https://docs.x.ai/docs/guides/video-generation). Its answers do
 * not contain the id of the job. xAI reports a video that moderation has stopped in one of three ways: by HTTP 400, by
 * an answer without a link, or by a link together with a note.
 */
export const xai = {
  name: "xai",
  variables: { key: "XAI_API_KEY", baseUrl: "XAI_BASE_URL" },
  baseUrls: ["https://api.x.ai"],
  hooks: null,
  linkLife: null,
  usageNames: ["cost_in_usd_ticks"],
  polls: {
    gapMs: 1_000,
    maxAgeMs: null,
    endpoint: null,
    headers: bearer,
    path: ({ id }) => `/v1/videos/${encodeURIComponent(id)}`,
    readsEveryStatus: true,
    read,
  },
  submits: {
    target: (path) => TARGETS.get(path) ?? null,
    refusal: refusalOf,
    readAnswer: (body, path) =>
      TARGETS.get(path)?.answer === "result"
        ? readImages(body)
        : jobReadingOf(idAt(body, "request_id"), null),
  },
  // https://docs.x.ai/docs/api-reference: the answer about a video. Errors have their kind in `code` and their text in `error`.
  jobCalls: {
    read: ["/v1/videos/{id}"],
    errorBody: (status, error) => ({ code: ERROR_KINDS.get(status) ?? UNAVAILABLE, error }),
  },
} as const satisfies UpstreamProvider;

/** Error texts in the form of xAI that the relay writes into its own errors about a call, by HTTP status. */
const ERROR_KINDS: ReadonlyMap<number, string> = new Map([
  [404, "Some requested entity was not found"],
  [429, "Some resource has been exhausted"],
]);
const UNAVAILABLE = "The service is currently unavailable";

/**
 * Returns the class of the refusal with which xAI answers a submission. A team without credits gets 403 or 429 with
 * "Your newly created team doesn't have any credits yet …" or "Your team … has either used all available credits or
 * reached its monthly spending limit …". Any other 403 means that the key or the team is blocked or lacks a permission,
 * unless moderation has stopped the content. A wrong key gets the status 400 (https://docs.x.ai/developers/debugging).
 */
function refusalOf(status: number, body: unknown): RefusalClass | null {
  const error = errorOf(body);
  const isUnpaid = /\ball available credits\b|\bdoesn't have any credits\b/i.test(error.text ?? "");
  if (isUnpaid && (status === 403 || status === 429)) return "funds";
  const isModerated = /moderat|guideline|safety/i.test(error.text ?? "");
  const isKeyRefused = status === 403 ? !isModerated : status === 400 && isAboutKey(error);
  return isKeyRefused ? "key" : refusalOfStatus(status);
}

function isAboutKey({ text }: UpstreamError): boolean {
  return /incorrect api key/i.test(text ?? "");
}

/**
 * Returns the meaning of the answer to a call for images. Images that moderation has stopped are left out; if it has
 * stopped all of them, the call has failed.
 */
function readImages(body: unknown): SubmitReading {
  const images = listAt(body, "data");
  if (images.length === 0) return { kind: "unclear" };
  const kept = images.filter((image) => booleanAt(image, "respect_moderation") !== false);
  const isModerated = kept.length === 0;
  return resultReadingOf({
    state: isModerated ? "failed" : DONE,
    urls: outputLinks({ main: kept.map((image) => at(image, "url")), part: kept }),
    error: isModerated ? { code: null, text: null, category: "moderation" } : null,
    usage: amountsAt(body, "usage"),
  });
}

function read(answer: Answer): Reading {
  const { status, body } = answer;
  const refusal = status === 400 ? readRefusal(body) : null;
  return refusal ?? readingOfStatus(answer) ?? readingOf(observe(body, stateIn(answer)));
}

/**
 * Returns the meaning of an answer to a poll with HTTP 400: that moderation has stopped the job, or that xAI does not
 * know the API key. Null for any other such answer, because for a short time xAI sometimes answers 400 about a new job.
 */
function readRefusal(body: unknown): Reading | null {
  const error = errorOf(body);
  if (isAboutKey(error)) return { kind: "unauthorized" };
  if (!/moderat/i.test(`${error.code} ${error.text}`)) return null;
  const report = observe(body, "failed");
  return readingOf(report && { ...report, error: { ...error, category: "moderation" } });
}

/**
 * Returns the state of a job, also for answers that do not name it. Null when nothing in the answer shows the state.
 */
function stateIn({ status, body }: Answer): string | null {
  const state = textAt(body, "status");
  // xAI uses the word "pending" for all jobs that have not ended, whether they wait or run.
  const isAtWork = (numberAt(body, "progress") ?? 0) > 0;
  if (state === "pending" ? isAtWork : state === null && status === 202) return "processing";
  return state ?? (linksIn(body).length > 0 ? DONE : null);
}

function observe(body: unknown, state: string | null): Observation | null {
  if (state === null) return null;
  const urls = linksIn(body);
  // Another word for success would mean another format of the answer, in which the link may be elsewhere.
  const hasFile = urls.length > 0 || textAt(body, "video", "url") !== null;
  const isWithheld = state.toLowerCase() === DONE && !hasFile;
  const isModerated = phaseOf(state) === "completed" && (isWithheld || isRejected(body));
  const error = errorOf(body);
  return {
    jobId: null,
    state: isModerated ? "failed" : state,
    urls,
    metadata: { duration: integerAt(body, "video", "duration") },
    completedAt: null,
    error: isModerated ? { ...error, category: "moderation" } : error,
    progress: numberAt(body, "progress"),
    usage: amountsAt(body, "usage"),
  };
}

/**
 * Returns the links to the video. The first one works only for a short time; the second leads to a copy that xAI was
 * asked to store.
 */
function linksIn(body: unknown): readonly string[] {
  return outputLinks({ main: [at(body, "video", "url")], part: at(body, "video") });
}

function isRejected(body: unknown): boolean {
  const remarks = [at(body, "video"), body].map((part) => booleanAt(part, "respect_moderation"));
  return remarks.includes(false);
}

function errorOf(body: unknown): UpstreamError {
  const code = textAt(body, "error", "code") ?? textAt(body, "code");
  const text = textAt(body, "error", "message") ?? textAt(body, "error");
  return { code, text };
}

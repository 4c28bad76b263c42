import type { JsonObject } from "../../core/json.ts";
import type { RefusalClass } from "../../core/record/refusal.ts";
import { DAY_MS, HOUR_MS } from "../../core/time.ts";
import { ratioOf, resolutionOf } from "../../core/output-metadata/pixels.ts";
import { isSuccess, type Answer } from "../provider-answer.ts";
import type { FailureCategory } from "../../core/record/upstream.ts";
import type { CancelReading } from "../cancel.ts";
import type { UpstreamError } from "../failure.ts";
import { at, idAt, integerAt, numberAt, textAt } from "../json-fields.ts";
import type { Observation } from "../observation.ts";
import { outputLinks, type OutputPlaces } from "../output-search.ts";
import { phaseOf } from "../phase.ts";
import {
  bearer,
  noSignature,
  type UpstreamProvider,
  type Reading,
  readingOf,
  UNCLEAR,
} from "../provider.ts";
import {
  jobReadingOf,
  membersAt,
  resultReadingOf,
  type SubmitReading,
  type SubmitTarget,
} from "../submit.ts";
import { refusalOfStatus } from "../submit-refusal.ts";
import { amountsAt } from "../usage.ts";

/**
 * Path of the calls that generate images. The images, or links to them, are in the answer itself, and there is no job
 * to poll.
 */
const IMAGES_PATH = "/v1/image_generation";
const VIDEO_TARGET: SubmitTarget = {
  model: { pointer: "/model" },
  endpoint: null,
  parameters: membersAt("", ["seed", "ratio", "duration", "resolution"]),
  answer: "job",
};
/** Calls with which MiniMax starts jobs or makes images, by path (https://platform.minimax.io/docs). */
const TARGETS: ReadonlyMap<string, SubmitTarget> = new Map([
  ["/v1/video_generation", VIDEO_TARGET],
  ["/v2/video_generation", { ...VIDEO_TARGET, endpoint: "v2" }],
  [
    IMAGES_PATH,
    {
      ...VIDEO_TARGET,
      parameters: membersAt("", ["seed", "aspect_ratio"]),
      answer: "result",
      unreadable: { "/response_format": ["base64"] },
    },
  ],
]);

/**
 * Adapter for MiniMax Hailuo, API v1 and v2 (https://platform.minimax.io/docs). Hooks are unsigned, have the same
 * format as answers to polls, and come only after MiniMax has tested the hook URL by a handshake. In v1 a second
 * request is needed for the URL of the video. Errors in v1 have the HTTP status 200.
 */
export const minimax = {
  name: "minimax",
  variables: { key: "MINIMAX_API_KEY", baseUrl: "MINIMAX_BASE_URL" },
  baseUrls: ["https://api.minimax.io", "https://api.minimaxi.com"],
  hooks: {
    assurance: "capability-url",
    parameter: "callback_url",
    idParameter: null,
    preflight,
    authenticate: noSignature,
    read: observe,
  },
  // https://platform.minimax.io/docs: an hour for the link to download a file. What others state of the guide to videos
  // (https://platform.minimax.io/docs/guides/video-generation) says nine hours.
  linkLife: { minMs: HOUR_MS, maxMs: 9 * HOUR_MS },
  usageNames: ["output_seconds"],
  polls: {
    gapMs: 1_000,
    // MiniMax answers queries for jobs of API v2 for 7 days.
    maxAgeMs: 7 * DAY_MS,
    endpoint: { isRequired: false, meaning: "v2 for a job of the v2 API", pattern: /^v2$/ },
    headers: bearer,
    path: ({ id, endpoint }) =>
      endpoint === "v2"
        ? `/v2/query/video_generation/${encodeURIComponent(id)}`
        : `/v1/query/video_generation?task_id=${encodeURIComponent(id)}`,
    read: readTask,
  },
  submits: {
    target: (path) => TARGETS.get(path) ?? null,
    refusal: (status, body) => REFUSALS.get(errorCodeOf(body)) ?? refusalOfStatus(status),
    refusalError: (body) => errorOf(body, body),
    // 1000: an error without a known cause, after which the caller is to try again later.
    readAnswer: (body, path) =>
      path === IMAGES_PATH
        ? readImages(body)
        : jobReadingOf(idAt(body, "task_id"), TARGETS.get(path)?.endpoint ?? null),
  },
  // https://platform.minimax.io/docs/api-reference/video-generation-v2-delete: the call cancels a task of API v2 that is
  // queued, deletes the record of one that has ended, and is refused for one that is running. API v1 has no such call.
  cancels: {
    request: ({ id, endpoint }) =>
      endpoint === "v2"
        ? { method: "DELETE", path: `/v2/video_generation/${encodeURIComponent(id)}` }
        : null,
    read: readCancellation,
    onlyWhile: ["queued"],
  },
  // https://platform.minimax.io/docs/api-reference/video-generation-v2-query, and the same page of API v1. Errors have the
  // form of API v2 in `error`, and that of API v1 in `base_resp`.
  jobCalls: {
    read: ["/v1/query/video_generation?task_id={id}", "/v2/query/video_generation/{id}"],
    // https://platform.minimax.io/docs/api-reference/video-generation-v2-delete
    cancel: {
      method: "DELETE",
      paths: ["/v2/video_generation/{id}"],
      answer: {
        done: () => ({
          status: 200,
          body: { base_resp: { status_code: 0, status_msg: "success" } },
        }),
        refused: 400,
      },
    },
    errorBody,
  },
} as const satisfies UpstreamProvider;

/**
 * Error codes and types in the form of MiniMax that the relay writes into its own errors, by HTTP status
 * (https://platform.minimax.io/docs/api-reference/errorcode).
 */
const ERRORS: ReadonlyMap<number, readonly [code: number, type: string]> = new Map([
  [400, [2013, "bad_request_error"]],
  [404, [2013, "bad_request_error"]],
  [429, [1002, "rate_limit_error"]],
]);
const SERVER_ERROR = [1000, "server_error"] as const;

function errorBody(status: number, message: string): JsonObject {
  const [code, type] = ERRORS.get(status) ?? SERVER_ERROR;
  return {
    type: "error",
    error: { type, message, http_code: String(status) },
    request_id: "",
    base_resp: { status_code: code, status_msg: message },
  };
}

/**
 * Returns what an answer to a cancellation says. An answer with an error code can have the HTTP status 200: in API v1
 * it does, in v2 it may.
 */
function readCancellation(answer: Answer): CancelReading {
  if (answer.status === 404) return "unknown";
  return isSuccess(answer) && errorCodeOf(answer.body) === null ? "canceled" : "refused";
}

const MAX_CHALLENGE_CHARS = 512;
/** Error codes with which MiniMax refuses the API key: 1004 (login failed) and 2049 (invalid key). */
const UNAUTHORIZED: readonly (string | null)[] = ["1004", "2049"];
const LIMITED = "1002";
/**
 * Classes of the error codes with which MiniMax refuses a submission: limits of the rate (1002, 1039, 2045, 2056) and
 * of calls in flight (1041), the balance (1008) and the quota of a plan (1028, 1030), the key (1004, 2049) and a model
 * that is not in the plan (2061), and the input (1026, 1042, 2013). Other codes do not prove that no job was started
 * (https://platform.minimax.io/docs/api-reference/errorcode; 1028, 1030 and 2061:
 * https://github.com/MiniMax-AI/cli/blob/main/src/errors/api.ts).
 */
const REFUSALS: ReadonlyMap<string | null, RefusalClass> = new Map([
  [LIMITED, "rate"],
  ["1004", "key"],
  ["1008", "funds"],
  ["1026", "final"],
  ["1028", "funds"],
  ["1030", "funds"],
  ["1039", "rate"],
  ["1041", "busy"],
  ["1042", "final"],
  ["2013", "final"],
  ["2045", "rate"],
  ["2049", "key"],
  ["2056", "rate"],
  ["2061", "key"],
]);
/**
 * Categories of failures by MiniMax's error codes: moderation of the input (1026) or the output (1027), an input that
 * is not valid (1042, 2013), time-out (1001) and limits (https://platform.minimax.io/docs/api-reference/errorcode).
 */
const CATEGORIES: ReadonlyMap<string | null, FailureCategory> = new Map([
  ["1026", "moderation"],
  ["1027", "moderation"],
  ["1042", "invalid_input"],
  ["2013", "invalid_input"],
  ["1001", "timeout"],
  [LIMITED, "rate_limited"],
  ["1039", "rate_limited"],
  ["2045", "rate_limited"],
]);

function preflight(body: unknown): string | null {
  const challenge = textAt(body, "challenge");
  if (challenge === null || challenge.length > MAX_CHALLENGE_CHARS) return null;
  return JSON.stringify({ challenge });
}

/**
 * Returns the meaning of the answer to a call that generates images. If the answer contains the images in base64, it is
 * a result without links.
 */
function readImages(body: unknown): SubmitReading {
  if (errorCodeOf(body) !== null || at(body, "data") == null) return { kind: "unclear" };
  const images = at(body, "data");
  return resultReadingOf({ urls: outputLinks({ main: [at(images, "image_urls")], part: images }) });
}

function readTask({ body }: Answer): Reading {
  const refusal = refusalOf(body);
  if (refusal !== null) return refusal;
  const observation = observe(body);
  const fileId = idAt(body, "file_id");
  if (observation === null || fileId === null || !needsFile(observation)) {
    return readingOf(observation);
  }
  return {
    kind: "next",
    // A JSON text can contain half of a surrogate pair, which encodeURIComponent would refuse.
    path: `/v1/files/retrieve?file_id=${encodeURIComponent(fileId.toWellFormed())}`,
    read: (answer) => readFile(answer, observation),
  };
}

function needsFile({ state, urls }: Observation): boolean {
  return phaseOf(state) === "completed" && urls.length === 0;
}

function readFile({ body }: Answer, observation: Observation): Reading {
  const refusal = refusalOf(body);
  if (refusal !== null) return refusal;
  const urls = outputLinks(placesIn({ file: at(body, "file") ?? body }));
  const isOther = at(body, "file") == null && urls.length === 0;
  if (errorCodeOf(body) !== null || isOther) return UNCLEAR;
  return { kind: "observed", observation: { ...observation, urls } };
}

function refusalOf(body: unknown): Reading | null {
  const code = errorCodeOf(body);
  if (UNAUTHORIZED.includes(code)) return { kind: "unauthorized" };
  return code === LIMITED ? { kind: "limited" } : null;
}

function observe(body: unknown): Observation | null {
  const task = at(body, "task") ?? body;
  const error = errorOf(body, task);
  // A job that moderation stopped may have no status.
  const state = error.category === "moderation" ? "failed" : textAt(task, "status");
  if (state === null) return null;
  const width = numberAt(task, "video_width");
  const height = numberAt(task, "video_height");
  return {
    jobId: idAt(task, "task_id") ?? idAt(task, "id"),
    state,
    urls: outputLinks(placesIn(task)),
    metadata: {
      ratio: textAt(task, "ratio") ?? ratioOf(width, height),
      duration: integerAt(task, "duration"),
      resolution: textAt(task, "resolution") ?? resolutionOf(width, height),
    },
    completedAt: null,
    error,
    usage: amountsAt(task, "usage"),
  };
}

/**
 * Returns the parts of an answer, about a task or about its file, that contain links to the outputs. Either answer may
 * contain the link of the file.
 */
function placesIn(answer: unknown): OutputPlaces {
  const [content, file] = [at(answer, "content"), at(answer, "file")];
  const main = [
    at(answer, "video_url"),
    at(content, "url"),
    at(answer, "download_url"),
    at(file, "download_url"),
  ];
  return { main, part: [content, file] };
}

function errorOf(body: unknown, task: unknown): UpstreamError {
  const code = errorCodeOf(body);
  const error =
    code === null
      ? { code: idAt(task, "error", "code"), text: textAt(task, "error", "message") }
      : { code, text: textAt(body, "base_resp", "status_msg") };
  const refusal = REFUSALS.get(error.code) ?? null;
  const category = CATEGORIES.get(error.code);
  return { ...error, refusal, ...(category && { category }) };
}

/** Returns the error code in an answer. Null means that the request has succeeded; the job itself may have failed. */
function errorCodeOf(body: unknown): string | null {
  const code = idAt(body, "base_resp", "status_code");
  return code === "0" ? null : code;
}

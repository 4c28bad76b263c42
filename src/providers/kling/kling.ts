import type { RefusalClass } from "../../core/record/refusal.ts";
import { DAY_MS, toSeconds } from "../../core/time.ts";
import { bytesOf, toBase64Url } from "../../security/encoding.ts";
import { hmacKey, isHmacSecret, signWithNewest } from "../../security/hmac.ts";
import { at, firstAt, idAt, integerAt, listAt, numberAt, textAt } from "../json-fields.ts";
import type { Observation } from "../observation.ts";
import { isNoOutputByKind, outputLinks } from "../output-search.ts";
import { bearer, type UpstreamProvider, readingOf } from "../provider.ts";
import { standardWebhook } from "../shared/standard-webhook.ts";
import { membersAt, submitReadingOf, type SubmitTarget } from "../submit.ts";
import { refusalOfStatus } from "../submit-refusal.ts";

/**
 * Calls of the classic API that start jobs, by path below `/v1/`, which is also the endpoint of the jobs
 * (https://klingai.com/document-api). Calls that only examine a file, e.g. for faces, start no job and are left out.
 */
const CLASSIC_ENDPOINTS: readonly string[] = [
  "videos/text2video",
  "videos/image2video",
  "videos/multi-image2video",
  "videos/omni-video",
  "videos/motion-control",
  "videos/multi-elements",
  "videos/video-extend",
  "videos/lip-sync",
  "videos/advanced-lip-sync",
  "videos/avatar/image2video",
  "videos/effects",
  "images/generations",
  "images/omni-image",
  "images/multi-image2image",
  "images/editing/expand",
  "audio/text-to-audio",
  "audio/video-to-audio",
];
/** Path of the call of the classic API for speech. Its answer is the finished result, and it takes no hook URL. */
const SPEECH = "audio/tts";
/**
 * Pattern of the paths of calls that start jobs in Kling's API of 2026. The length of a path is limited, because it
 * contains the name of the model, which is stored with the task.
 */
const PATH_OF_2026 =
  /^\/(?:text-to-video|image-to-video|omni-video|motion-control)\/(kling-[\w.-]{1,64})$/;
/**
 * Range of the service codes (numbers in the body of an answer) with which Kling refuses a call
 * (https://klingai.com/document-api/api/get-started/error-codes). A code that is not in `CLASSES` has the class
 * `final`. An account without money or without a resource pack (1100 to 1102) gets HTTP 429, and so do the limits of
 * the rate (1302) and of tasks in flight (1303).
 */
const REFUSALS = { min: 1000, max: 1399 };
const CLASSES: ReadonlyMap<number, RefusalClass> = new Map([
  [1000, "key"],
  [1001, "key"],
  [1002, "key"],
  [1003, "key"],
  [1004, "key"],
  [1100, "funds"],
  [1101, "funds"],
  [1102, "funds"],
  [1103, "key"],
  [1302, "rate"],
  [1303, "busy"],
  // The address of the caller is not among those that the account permits.
  [1304, "key"],
]);

/**
 * Adapter for both APIs of Kling: the classic one, in which a job is polled at the path of the call that has submitted
 * it, and the one introduced in 2026. Kling sends a hook at every change of status. It is signed by the rules of
 * Standard Webhooks if the account has a secret (https://app.klingai.com/global/dev/document-api).
 */
export const kling = {
  name: "kling",
  variables: {
    key: "KLING_API_KEY",
    baseUrl: "KLING_BASE_URL",
    webhookSecret: "KLING_WEBHOOK_SECRET",
  },
  baseUrls: [
    "https://api-singapore.klingai.com",
    "https://api-beijing.klingai.com",
    "https://api.klingai.com",
  ],
  isWebhookSecret: isHmacSecret,
  hooks: {
    assurance: "body-signed",
    parameter: "callback_url",
    idParameter: "external_task_id",
    authenticate: standardWebhook,
    read: (body) => observe(body) ?? observe(at(body, "data")),
  },
  // Documentation of the document API: outputs are deleted after 30 days.
  linkLife: { minMs: 30 * DAY_MS, maxMs: 30 * DAY_MS },
  usageNames: ["final_unit_deduction"],
  polls: {
    gapMs: 1_000,
    maxAgeMs: null,
    namesTask: true,
    endpoint: {
      isRequired: false,
      meaning: "the submit path of the classic API after /v1/, e.g. videos/text2video",
      pattern: /^(?!v\d+\/)[^/]+(?:\/[^/]+){1,2}$/,
    },
    headers: async (key, now) => bearer(await tokenOf(key, now)),
    path: ({ id, endpoint }) => {
      const escaped = encodeURIComponent(id);
      if (endpoint === null) return `/tasks?task_ids=${escaped}`;
      return `/v1/${endpoint.split("/").map(encodeURIComponent).join("/")}/${escaped}`;
    },
    read: ({ body }, { id, endpoint }) => {
      const data = at(body, "data");
      const task = endpoint === null ? listAt(data).find((item) => idOf(item) === id) : data;
      return readingOf(observe(task));
    },
  },
  submits: {
    target: targetOf,
    refusal: (status, body) => {
      const code = numberAt(body, "code") ?? 0;
      if (code < REFUSALS.min || code > REFUSALS.max) return refusalOfStatus(status);
      return CLASSES.get(code) ?? "final";
    },
    // 5001: the service is not available at the moment.
    readAnswer: (body, path) =>
      submitReadingOf(observe(at(body, "data")), targetOf(path)?.endpoint ?? null),
  },
  // https://klingai.com/document-api: a task of the API of 2026, which may be asked for together with others, and one of
  // each kind of the classic API. Errors have a service code (…/get-started/error-codes).
  jobCalls: {
    read: ["/tasks?task_ids={id}", "/v1/{endpoint}/{id}"],
    errorBody: (status, message) => ({
      code: SERVICE_CODES.get(status) ?? 5000,
      message,
      request_id: "",
    }),
  },
} as const satisfies UpstreamProvider;

/**
 * Service codes (numbers in the body) in the form of Kling that the relay writes into its own errors, by HTTP status.
 */
const SERVICE_CODES: ReadonlyMap<number, number> = new Map([
  [404, 1203],
  [429, 1302],
  [504, 5002],
]);

/**
 * Names of the fields of an output that may contain its main link. For an audio file the name contains the format: one
 * of Kling's APIs writes it before the rest of the name, the other after it. The result of a job that makes sound for a
 * video also contains the video.
 */
const MAIN_URLS = ["url", "video_url", "mp3_url", "url_mp3"];
/** Lists of the results of the classic API, the main ones first. */
const CLASSIC_LISTS = ["videos", "images", "series_images", "audios"];
/** Types of the outputs of the API of 2026, the main ones first. */
const TYPES_OF_2026: readonly unknown[] = ["video", "image", "audio"];
/**
 * Names of the fields of an output that may contain its duration in seconds. For an audio file the name contains the
 * format, before or after the rest of the name.
 */
const DURATIONS = ["duration", "mp3_duration", "duration_mp3", "wav_duration", "duration_wav"];

/** Returns what a call to a path starts, in either of Kling's APIs. */
function targetOf(path: string): SubmitTarget | null {
  const [, model] = PATH_OF_2026.exec(path) ?? [];
  if (model !== undefined) return targetOf2026(model);
  const endpoint = path.startsWith("/v1/") ? path.slice("/v1/".length) : "";
  if (endpoint === SPEECH) return { ...classicTarget(endpoint), endpoint: null, answer: "result" };
  return CLASSIC_ENDPOINTS.includes(endpoint) ? classicTarget(endpoint) : null;
}

/**
 * Returns the description of a call of Kling's classic API. In such a call the model may be left out; in some of these
 * calls it cannot be chosen.
 */
function classicTarget(endpoint: string): SubmitTarget {
  return {
    model: { pointer: "/model_name", otherwise: endpoint },
    endpoint,
    parameters: membersAt("", ["duration", "aspect_ratio", "resolution", "sound"]),
    answer: "job",
  };
}

function targetOf2026(model: string): SubmitTarget {
  return {
    model: { name: model },
    endpoint: null,
    parameters: membersAt("/settings", ["duration", "aspect_ratio", "resolution"]),
    answer: "job",
    hookParameters: {
      parameter: "options.callback_url",
      idParameter: "options.external_task_id",
    },
  };
}

/**
 * Returns the bearer token of a request. For a key `accesskey:secretkey` of the classic API it is a JWT (RFC 7519),
 * signed with the secret key and valid for 30 minutes. Any other key is itself the token.
 */
async function tokenOf(key: string, now: number): Promise<string> {
  const [, accessKey, secretKey] = /^([^:]+):([^:]+)$/.exec(key) ?? [];
  if (accessKey === undefined || secretKey === undefined) return key;
  const seconds = toSeconds(now);
  const claims = { iss: accessKey, exp: seconds + 1800, nbf: seconds - 5 };
  const parts = [{ alg: "HS256", typ: "JWT" }, claims];
  const content = parts.map((part) => toBase64Url(bytesOf(JSON.stringify(part)))).join(".");
  const mac = await signWithNewest([await hmacKey(bytesOf(secretKey))], bytesOf(content));
  return `${content}.${toBase64Url(mac)}`;
}

function observe(task: unknown): Observation | null {
  const state = textAt(task, "task_status") ?? textAt(task, "status");
  if (state === null) return null;
  const outputs2026 = outputsOf2026(task);
  const outputs = [
    ...CLASSIC_LISTS.flatMap((list) => listAt(task, "task_result", list)),
    ...outputs2026,
  ];
  const text = textAt(task, "task_status_msg") ?? textAt(task, "message");
  return {
    jobId: idOf(task),
    taskId: textAt(task, "task_info", "external_task_id") ?? textAt(task, "external_id"),
    state,
    // `task_info` beside the results repeats the request.
    urls: outputLinks({
      main: outputs.map((output) => firstAt(output, MAIN_URLS, textAt)),
      part: [at(task, "task_result"), outputs2026],
      // An element that a call has made repeats the images and videos of the call.
      isLeftOut: (name) => name === "elements",
    }),
    metadata: { duration: firstAt(outputs[0], DURATIONS, integerAt) },
    completedAt: numberAt(task, "updated_at") ?? numberAt(task, "update_time"),
    error: text === null ? null : { code: null, text },
    usage: { final_unit_deduction: unitsOf(task) },
  };
}

/**
 * Returns the units that a job has cost. In the classic API this is `final_unit_deduction`; in that of 2026 it is the
 * sum of those amounts in `billing` that are in units. Null when the report states none.
 */
function unitsOf(task: unknown): number | null {
  const amounts = listAt(task, "billing")
    .filter((entry) => at(entry, "charge_type") === "unit")
    .flatMap((entry) => numberAt(entry, "amount") ?? []);
  const sum = amounts.reduce((total, amount) => total + amount, 0);
  // Sums of fractions have a rounding error, which would raise a price to the next credit.
  const billed = amounts.length === 0 ? null : Number(sum.toPrecision(12));
  return numberAt(task, "final_unit_deduction") ?? billed;
}

/**
 * Returns the results among the outputs of a job of the API of 2026: videos, images, audio files, and then those of other
 * types. An image next to a video is left out, because it is only the cover of the video.
 */
function outputsOf2026(task: unknown): readonly unknown[] {
  const outputs = listAt(task, "outputs").filter((output) => !isNoOutputByKind(output));
  const hasVideo = outputs.some((output) => at(output, "type") === "video");
  const results = outputs.filter((output) => !hasVideo || at(output, "type") !== "image");
  const ofType = TYPES_OF_2026.map((type) => results.filter((one) => at(one, "type") === type));
  const others = results.filter((output) => !TYPES_OF_2026.includes(at(output, "type")));
  return [...ofType, others].flat();
}

function idOf(task: unknown): string | null {
  return idAt(task, "task_id") ?? idAt(task, "id");
}

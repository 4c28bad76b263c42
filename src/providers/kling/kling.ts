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
 * (https://klingai.com/document-api). Calls that only look at a file, e.g. for faces, start none.
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
 * Pattern of the paths of the API of 2026. Their length is bounded, because the name of the model in them is stored
 * with the task.
 */
const PATH_OF_2026 =
  /^\/(?:text-to-video|image-to-video|omni-video|motion-control)\/(kling-[\w.-]{1,64})$/;
/**
 * Service codes that refuse a call (https://klingai.com/document-api/api/get-started/error-codes): all of them, and those
 * whose class is not `final`. The account has no money or no resource pack (1100 to 1102) with HTTP 429, like the limits of
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
 * Adapter for both generations of the Kling API: the classic one, in which the path of a query contains the path of
 * the submit call, and the one introduced in 2026. A hook comes at every change of status. It is signed with
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

/** Service codes of errors about a call, by HTTP status. */
const SERVICE_CODES: ReadonlyMap<number, number> = new Map([
  [404, 1203],
  [429, 1302],
  [504, 5002],
]);

/**
 * Names of the fields of an output that may contain its main link. For an audio file the names contain the format; one
 * generation of the API writes the format before, the other behind the rest of the name. The result of a job that makes
 * sound for a video also contains the video.
 */
const MAIN_URLS = ["url", "video_url", "mp3_url", "url_mp3"];
/** Lists of the results of the classic API, the main ones first. */
const CLASSIC_LISTS = ["videos", "images", "series_images", "audios"];
/** Types of the outputs of the API of 2026, the main ones first. */
const TYPES_OF_2026: readonly unknown[] = ["video", "image", "audio"];
/** Names of the fields of an output that may contain its duration in seconds, formed like those in `MAIN_URLS`. */
const DURATIONS = ["duration", "mp3_duration", "duration_mp3", "wav_duration", "duration_wav"];

/** Returns what a call to a path starts, in either generation of the API. */
function targetOf(path: string): SubmitTarget | null {
  const [, model] = PATH_OF_2026.exec(path) ?? [];
  if (model !== undefined) return targetOf2026(model);
  const endpoint = path.startsWith("/v1/") ? path.slice("/v1/".length) : "";
  if (endpoint === SPEECH) return { ...classicTarget(endpoint), endpoint: null, answer: "result" };
  return CLASSIC_ENDPOINTS.includes(endpoint) ? classicTarget(endpoint) : null;
}

/** Returns the target of a classic call, in which the model may be left out or, in some calls, cannot be chosen. */
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
 * Returns the bearer token of a request. A key `accesskey:secretkey` of the classic API gives a JWT (RFC 7519),
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
 * Returns the units that a job has cost: `final_unit_deduction` of the classic API, the sum of the amounts in units of
 * `billing` in that of 2026. Null when the report states none.
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

import type { RefusalClass } from "../../core/record/refusal.ts";
import type { FailureCategory } from "../../core/record/upstream.ts";
import { DAY_MS } from "../../core/time.ts";
import { isSuccess, type Answer } from "../provider-answer.ts";
import type { CancelReading } from "../cancel.ts";
import type { UpstreamError } from "../failure.ts";
import { at, idAt, integerAt, listAt, textAt } from "../json-fields.ts";
import type { Observation } from "../observation.ts";
import { outputLinks } from "../output-search.ts";
import { bearer, type Reading, provenReadingOf, type UpstreamProvider } from "../provider.ts";
import { membersAt, type SubmitReading, submitReadingOf, type SubmitTarget } from "../submit.ts";
import { refusalOfStatus } from "../submit-refusal.ts";
import { amountsAt } from "../usage.ts";
import { statedMetadata } from "../shared/stated-metadata.ts";

const SERVICES = "/api/v1/services/aigc";
/**
 * Path of the calls that generate images. The images, or links to them, are in the answer itself, and there is no job
 * to poll.
 */
const SYNCHRONOUS_PATH = `${SERVICES}/multimodal-generation/generation`;
/**
 * Paths of the calls that start jobs: videos of all kinds, talking heads, and images of each generation of models. The
 * pages of the models name them (https://www.alibabacloud.com/help/en/model-studio/).
 */
const JOB_PATHS: readonly string[] = [
  "video-generation/video-synthesis",
  "image2video/video-synthesis",
  "image-generation/generation",
  "text2image/image-synthesis",
  "image2image/image-synthesis",
  "image2image/out-painting",
].map((path) => `${SERVICES}/${path}`);
const TARGET: SubmitTarget = {
  model: { pointer: "/model" },
  endpoint: null,
  parameters: membersAt("/parameters", [
    "seed",
    "ratio",
    "size",
    "duration",
    "resolution",
    "audio",
  ]),
  answer: "job",
  headers: { "X-DashScope-Async": "enable" },
};
const SYNCHRONOUS_TARGET: SubmitTarget = {
  model: TARGET.model,
  endpoint: null,
  parameters: TARGET.parameters,
  answer: "result",
};

/**
 * Adapter for Alibaba Cloud Model Studio (Wan, Qwen-Image), which sends no hooks for single jobs
 * (https://www.alibabacloud.com/help/en/model-studio/manage-asynchronous-tasks).
 */
export const dashscope = {
  name: "dashscope",
  variables: { key: "DASHSCOPE_API_KEY", baseUrl: "DASHSCOPE_BASE_URL" },
  baseUrls: [
    "https://dashscope.aliyuncs.com",
    "https://dashscope-intl.aliyuncs.com",
    "https://dashscope-us.aliyuncs.com",
    "https://cn-hongkong.dashscope.aliyuncs.com",
  ],
  hostsOfCustomers: {
    form: "https://{workspace}.{region}.maas.aliyuncs.com",
    pattern: /^https:\/\/[a-z0-9-]+\.[a-z]+-[a-z]+(-\d)?\.maas\.aliyuncs\.com$/,
  },
  hooks: null,
  linkLife: { minMs: DAY_MS, maxMs: DAY_MS },
  usageNames: [
    "duration",
    "video_duration",
    "input_video_duration",
    "output_video_duration",
    "image_count",
    "SR",
    "fps",
  ],
  polls: {
    gapMs: 1_000,
    // Model Studio permits 20 polls per second for an account.
    perMinute: 1_200,
    maxAgeMs: DAY_MS,
    endpoint: null,
    headers: bearer,
    path: ({ id }) => `/api/v1/tasks/${encodeURIComponent(id)}`,
    read,
  },
  submits: {
    target: targetOf,
    refusal: refusalOf,
    refusalError: errorOf,
    readAnswer: (body, path) =>
      path === SYNCHRONOUS_PATH ? readImages(body) : submitReadingOf(reportIn(body)),
  },
  // https://help.aliyun.com/zh/model-studio/manage-asynchronous-tasks: only a task in the state PENDING is canceled.
  cancels: {
    request: ({ id }) => ({
      method: "POST",
      path: `/api/v1/tasks/${encodeURIComponent(id)}/cancel`,
    }),
    read: readCancellation,
  },
  // The SDK waits at this path, and reads such errors:
  // https://github.com/dashscope/dashscope-sdk-python/blob/main/dashscope/client/base_api.py
  jobCalls: {
    read: ["/api/v1/tasks/{id}"],
    // https://help.aliyun.com/zh/model-studio/manage-asynchronous-tasks
    cancel: {
      method: "POST",
      paths: ["/api/v1/tasks/{id}/cancel"],
      answer: { done: () => ({ status: 200, body: { request_id: "" } }), refused: 400 },
    },
    // https://help.aliyun.com/zh/model-studio/get-temporary-file-url: the answer says where a file for a model (`{id}`) is
    // uploaded without a key. The SDK asks for it when a file of the job is a local one.
    lookups: [{ path: "/api/v1/uploads?action=getPolicy&model={id}", permitsUpload: true }],
    errorBody: (status, message) => ({
      code: ERROR_CODES.get(status) ?? "InternalError",
      message,
      request_id: "",
    }),
  },
} as const satisfies UpstreamProvider;

/**
 * Codes in Model Studio's style that the relay writes into its own errors about a call, by the HTTP status of the error
 * (https://www.alibabacloud.com/help/en/model-studio/error-code).
 */
const ERROR_CODES: ReadonlyMap<number, string> = new Map([
  [400, "UnsupportedOperation"],
  [403, "AccessDenied"],
  [404, "NotFound"],
  [429, "Throttling.RateQuota"],
  [504, "InternalError.Timeout"],
]);

function readCancellation(answer: Answer): CancelReading {
  const code = textAt(answer.body, "code");
  if (code === "UnsupportedOperation") return "refused";
  return isSuccess(answer) && code === null ? "canceled" : "unknown";
}

/** Categories of failures of jobs, each with a pattern that matches their codes or texts. The first match decides. */
const CATEGORIES: readonly (readonly [FailureCategory, RegExp])[] = [
  ["moderation", /^DataInspection|^IPInfringementSuspect|green.?net/i],
  ["rate_limited", /^Throttling/],
  ["invalid_input", /^Invalid(Parameter|URL)/],
];

function targetOf(path: string): SubmitTarget | null {
  if (path === SYNCHRONOUS_PATH) return SYNCHRONOUS_TARGET;
  return JOB_PATHS.includes(path) ? TARGET : null;
}

/**
 * Returns the meaning of the answer to a call that generates images. Some models at the path of these calls generate
 * text instead. For the task, such an answer is a result without output, and not an error, so that the caller still
 * gets the text that it has paid for.
 */
function readImages(body: unknown): SubmitReading {
  const output = at(body, "output");
  if (listAt(output, "choices").length === 0) return { kind: "unclear" };
  const observation = observationOf(null, "SUCCEEDED", output, at(body, "usage"));
  return { kind: "result", job: null, observation };
}

/**
 * Classes of refused submissions by the error code with which Model Studio refuses them
 * (https://help.aliyun.com/zh/model-studio/error-code). The codes of its other limits, `Throttling` and those that
 * begin with it, have the HTTP status 429.
 */
const REFUSALS: ReadonlyMap<string, RefusalClass> = new Map([
  ["Arrearage", "funds"],
  ["AllocationQuota.FreeTierOnly", "funds"],
  ["BudgetLimitExceeded", "funds"],
  ["CommodityNotPurchased", "funds"],
  ["PostpaidBillOverdue", "funds"],
  ["PrepaidBillOverdue", "funds"],
  ["InvalidApiKey", "key"],
  ["AccessDenied", "key"],
  ["AccessDenied.Unpurchased", "key"],
  ["Model.AccessDenied", "key"],
  // With HTTP 503 or 500: the request is throttled, because the system has no capacity left.
  ["ModelServingError", "rate"],
]);

/**
 * Returns the class of the refusal with which Model Studio answers a submission. If the text of a rate-limit error says
 * "Free allocated quota exceeded.", a free quota is used up, and the rate is not the reason.
 */
function refusalOf(status: number, body: unknown): RefusalClass | null {
  const refusal = REFUSALS.get(textAt(body, "code") ?? "") ?? refusalOfStatus(status);
  const isFreeQuota = /free allocated quota/i.test(textAt(body, "message") ?? "");
  return refusal === "rate" && isFreeQuota ? "funds" : refusal;
}

function read({ body }: Answer): Reading {
  // An answer about the request and not about a job has its error at the top.
  const refusal = textAt(body, "code") ?? "";
  if (refusal === "InvalidApiKey") return { kind: "unauthorized" };
  if (refusal.startsWith("Throttling")) return { kind: "limited" };
  const output = at(body, "output");
  // Model Studio answers with this state about a job that it does not know or has deleted.
  const state = textAt(output, "task_status");
  if (state === "UNKNOWN") return { kind: "unclear", word: state };
  return provenReadingOf(reportIn(body));
}

/** Returns the report on a job in an answer. Null when the answer contains neither the id nor the state of a job. */
function reportIn(body: unknown): Observation | null {
  const output = at(body, "output");
  const [jobId, state] = [idAt(output, "task_id"), textAt(output, "task_status")];
  if (jobId === null && state === null) return null;
  return observationOf(jobId, state, output, at(body, "usage"));
}

function observationOf(
  jobId: string | null,
  state: string | null,
  output: unknown,
  usage: unknown,
): Observation {
  const urls = linksIn(output);
  // A job of several images succeeds when one image does. Each of the other images then has an error.
  const partial = listAt(output, "results").find((result) => textAt(result, "code") !== null);
  const isExplained = textAt(output, "code") !== null || textAt(output, "message") !== null;
  const hasFailed = urls.length === 0 && state === "SUCCEEDED" && partial !== undefined;
  const resolution = integerAt(usage, "SR");
  const stated = statedMetadata(usage);
  return {
    jobId,
    state: hasFailed ? "FAILED" : state,
    urls,
    metadata: {
      ...stated,
      resolution: resolution === null ? (stated.resolution ?? null) : `${resolution}p`,
    },
    // The times are local times of the region without an offset, so they cannot be used.
    completedAt: null,
    error: errorOf(hasFailed || !isExplained ? partial : output),
    usage: amountsAt(usage),
  };
}

/** Returns the links to the outputs of a job. Different models write them in different fields. */
function linksIn(output: unknown): readonly string[] {
  const results = listAt(output, "results");
  const parts = listAt(output, "choices").flatMap((choice) => listAt(choice, "message", "content"));
  const main = [
    at(output, "video_url"),
    at(output, "output_video_url"),
    ...results.flatMap((result) => [at(result, "video_url"), at(result, "url")]),
    ...parts.flatMap((part) => [at(part, "video"), at(part, "image")]),
  ];
  return outputLinks({ main, part: output, isLeftOut: isEchoOrPreview });
}

/**
 * Tells whether a member of an answer is no output: it is the recording that was transcribed, in the result of a
 * transcription, or it is a picture of a 3D model beside the model itself.
 */
function isEchoOrPreview(name: string, owner: object): boolean {
  if (name === "file_url") return "subtask_status" in owner || "transcription_url" in owner;
  const isPicture = /^rendered_(?:image|video)(?:_url)?$/.test(name);
  return isPicture && Object.keys(owner).some((other) => /model(?:_url)?$/.test(other));
}

function errorOf(report: unknown): UpstreamError {
  const error = {
    code: textAt(report, "code"),
    text: textAt(report, "message"),
    refusal: refusalOf(400, report),
  };
  const [category] =
    CATEGORIES.find(([, pattern]) =>
      [error.code, error.text].some((text) => pattern.test(text ?? "")),
    ) ?? [];
  return category === undefined ? error : { ...error, category };
}

import * as z from "zod";

/** States that a job goes through. Each read of its state, the first two of which find it open, moves it on. */
export type JobState = "queued" | "running" | "done" | "canceled";

/** A job of an upstream, as its answers state it. */
export interface SdkJob {
  readonly id: string;
  readonly state: JobState;
  /** Link to its output. */
  readonly output: string;
  /** Origin and path of the upstream's API in the links of its answers. */
  readonly links: string;
}

export interface Answer {
  readonly status: number;
  /** Object that is sent as JSON, or the bytes of a file; null for an answer without a body. */
  readonly body: object | null;
  readonly type?: string;
}

/** A call that starts a job. A body that the pattern or schema does not match is refused. */
interface SubmitPath {
  readonly path: RegExp;
  readonly body: z.ZodType | RegExp;
  readonly answer: (job: SdkJob) => object;
}

/** A call about a job, whose id is the first group of the pattern. */
export interface JobPath {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  readonly path: RegExp;
  /** `state` reads the state, and moves the job on; `file` reads its result; `cancel` ends an open job. */
  readonly kind: "state" | "file" | "cancel";
  readonly answer: (job: SdkJob) => Answer;
}

/** A call that uploads a file, or asks where to. */
interface UploadPath {
  readonly path: RegExp;
  readonly body: z.ZodType | RegExp;
  /** @param links origin and path of the API. @param storage URL that takes files without a key. */
  readonly answer: (links: string, storage: string) => object;
}

/** The part of an upstream's API that its fake takes, by the upstream's documentation and the code of its SDKs. */
export interface Api {
  /** What stands before the key in `Authorization`; null where the key stands alone in `x-goog-api-key`. */
  readonly scheme: "Bearer" | "Key" | null;
  readonly submits: readonly SubmitPath[];
  readonly calls: readonly JobPath[];
  /** Absent when it takes no files. */
  readonly uploads?: readonly UploadPath[];
  /** Answers to calls by `GET` that are about no job, by path. Absent when its SDK makes none. */
  readonly lookups?: Readonly<Record<string, object>>;
}

const NOW = "2026-01-01T00:00:00.000Z";
const NOW_S = 1_767_225_600;
/** Id of the version of Replicate's model `acme/fox`. */
export const VERSION = "5c7d5dc6dd8bf75c1acaa8565735e7986bc5b66206b55cca93cb72c9bf15ccaa";
/** Content of every file, of outputs and of uploads. */
export const FILE = "the bytes of a fox";

const prompt = z.string().startsWith("a ");
const hookUrl = z.string().includes("/hooks/");
const ok = (body: object): Answer => ({ status: 200, body });
const file: Answer = { status: 200, body: Buffer.from(FILE), type: "video/mp4" };

/** Returns the call that reads the state of a job. */
function reading(path: RegExp, answer: (job: SdkJob) => object): JobPath {
  return { method: "GET", path, kind: "state", answer: (job) => ok(answer(job)) };
}

/** Returns the member of a table for the state of a job. */
function inState<T>({ state }: SdkJob, words: Readonly<Record<JobState, T>>): T {
  return words[state];
}

function prediction(job: SdkJob) {
  const words = {
    queued: "starting",
    running: "processing",
    done: "succeeded",
    canceled: "canceled",
  };
  const url = `${job.links}/v1/predictions/${job.id}`;
  return {
    id: job.id,
    model: "acme/fox",
    version: "hidden",
    input: {},
    output: job.state === "done" ? job.output : null,
    logs: "",
    error: null,
    status: inState(job, words),
    created_at: NOW,
    urls: { get: url, cancel: `${url}/cancel`, web: `https://replicate.com/p/${job.id}` },
  };
}

function queueStatus(job: SdkJob) {
  const words = {
    queued: "IN_QUEUE",
    running: "IN_PROGRESS",
    done: "COMPLETED",
    canceled: "COMPLETED",
  };
  const url = `${job.links}/fal-ai/fox/requests/${job.id}`;
  return {
    status: inState(job, words),
    request_id: job.id,
    response_url: url,
    status_url: `${url}/status`,
    cancel_url: `${url}/cancel`,
    ...(job.state === "queued" ? { queue_position: 0 } : { logs: null }),
  };
}

/** https://fal.ai/docs/inference-api/queue/cancel: a request that was canceled is completed, and has this error. */
function queueResult({ state, output }: SdkJob): Answer {
  if (state === "done") return ok({ video: { url: output } });
  if (state === "canceled") {
    return { status: 499, body: { detail: "Request cancelled", error_type: "client_cancelled" } };
  }
  return { status: 400, body: { detail: "Request is still in progress" } };
}

/** A video of OpenAI's API. Gateways add the link to its output. */
function video(job: SdkJob) {
  const words = {
    queued: "queued",
    running: "in_progress",
    done: "completed",
    canceled: "cancelled",
  };
  return {
    id: job.id,
    task_id: job.id,
    object: "video",
    model: "veo-3.1",
    created_at: NOW_S,
    status: inState(job, words),
    progress: job.state === "done" ? 100 : 0,
    error: null,
    ...(job.state === "done" && { completed_at: NOW_S, url: job.output }),
  };
}

function gatewayTask(job: SdkJob) {
  const words = {
    queued: "QUEUED",
    running: "IN_PROGRESS",
    done: "SUCCESS",
    canceled: "FAILURE",
  };
  const result_url = job.state === "done" ? job.output : "";
  const data = { task_id: job.id, status: inState(job, words), result_url };
  return { code: "success", message: "", data };
}

const images: SubmitPath = {
  path: /^\/v1\/images\/generations$/,
  body: z.strictObject({ model: z.string(), prompt }),
  answer: ({ output }) => ({ created: NOW_S, data: [{ url: output }] }),
};
const videoCalls: readonly JobPath[] = [
  reading(/^\/v1\/videos\/([\w-]+)$/, video),
  {
    method: "GET",
    path: /^\/v1\/videos\/([\w-]+)\/content$/,
    kind: "file",
    answer: ({ state }) => (state === "done" ? file : { status: 404, body: {} }),
  },
  {
    method: "DELETE",
    path: /^\/v1\/videos\/([\w-]+)$/,
    kind: "cancel",
    answer: ({ id }) => ok({ id, object: "video.deleted", deleted: true }),
  },
];
/** https://platform.openai.com/docs/api-reference/files/create, whose body is a form. */
const openaiFiles: UploadPath = {
  path: /^\/v1\/files$/,
  body: new RegExp(FILE),
  answer: () => ({ id: "file-1", object: "file", bytes: FILE.length, purpose: "user_data" }),
};
/** The call for a video, whose body is a form. */
const videos: SubmitPath = {
  path: /^\/v1\/videos$/,
  body: /name="prompt"\r\n(?:.+\r\n)*\r\na /,
  answer: video,
};

/** The APIs by the name of the connection, which is also the first part of their paths. */
export const APIS: Readonly<Record<string, Api>> = {
  replicate: {
    scheme: "Bearer",
    submits: [
      {
        path: /^\/v1\/models\/acme\/fox\/predictions$/,
        body: z.strictObject({ input: z.looseObject({ prompt }), webhook: hookUrl }),
        answer: prediction,
      },
      {
        path: /^\/v1\/predictions$/,
        body: z.strictObject({
          version: z.literal(VERSION),
          input: z.looseObject({ prompt }),
          webhook: hookUrl,
        }),
        answer: prediction,
      },
    ],
    calls: [
      reading(/^\/v1\/predictions\/([\w-]+)$/, prediction),
      {
        method: "POST",
        path: /^\/v1\/predictions\/([\w-]+)\/cancel$/,
        kind: "cancel",
        answer: (job) => ok(prediction(job)),
      },
    ],
    // https://replicate.com/docs/reference/http#models.versions.get
    lookups: {
      [`/v1/models/acme/fox/versions/${VERSION}`]: {
        id: VERSION,
        created_at: NOW,
        cog_version: "0.16.0",
        openapi_schema: { components: { schemas: { Output: { type: "string" } } } },
      },
    },
    // https://replicate.com/docs/reference/http#files.create
    uploads: [
      {
        path: /^\/v1\/files$/,
        body: new RegExp(FILE),
        answer: (links) => ({
          id: "file-1",
          name: "fox.png",
          content_type: "image/png",
          size: FILE.length,
          etag: "etag-1",
          checksums: { sha256: "0".repeat(64) },
          metadata: {},
          created_at: NOW,
          expires_at: null,
          urls: { get: `${links}/v1/files/file-1` },
        }),
      },
    ],
  },
  fal: {
    scheme: "Key",
    submits: [
      {
        path: /^\/fal-ai\/fox\/video\?fal_webhook=/,
        body: z.looseObject({ prompt }),
        answer: queueStatus,
      },
    ],
    calls: [
      reading(/^\/fal-ai\/fox\/requests\/([\w-]+)\/status(?:\?|$)/, queueStatus),
      {
        method: "GET",
        path: /^\/fal-ai\/fox\/requests\/([\w-]+)$/,
        kind: "file",
        answer: queueResult,
      },
      {
        method: "PUT",
        path: /^\/fal-ai\/fox\/requests\/([\w-]+)\/cancel$/,
        kind: "cancel",
        answer: () => ({ status: 202, body: { status: "CANCELLATION_REQUESTED" } }),
      },
    ],
    // The code of the SDK, `storage.js`.
    uploads: [
      {
        path: /^\/storage\/upload\/initiate\?storage_type=fal-cdn-v3$/,
        body: z.strictObject({ content_type: z.literal("image/png"), file_name: z.string() }),
        answer: (_links, storage) => ({ upload_url: `${storage}/fal`, file_url: `${storage}/fox` }),
      },
    ],
  },
  "openai-videos": {
    scheme: "Bearer",
    submits: [images, videos],
    calls: videoCalls,
    uploads: [openaiFiles],
  },
  newapi: {
    scheme: "Bearer",
    submits: [images, videos],
    calls: [reading(/^\/v1\/video\/generations\/([\w-]+)$/, gatewayTask), ...videoCalls],
    uploads: [openaiFiles],
  },
  runway: {
    scheme: "Bearer",
    submits: [
      {
        path: /^\/v1\/text_to_video$/,
        body: z.strictObject({
          model: z.string(),
          promptText: prompt,
          ratio: z.string(),
          duration: z.int(),
        }),
        answer: ({ id }) => ({ id }),
      },
    ],
    calls: [
      reading(/^\/v1\/tasks\/([\w-]+)$/, (job) => {
        const words = {
          queued: "PENDING",
          running: "RUNNING",
          done: "SUCCEEDED",
          canceled: "CANCELLED",
        };
        const output = job.state === "done" ? { output: [job.output] } : {};
        return { id: job.id, createdAt: NOW, status: inState(job, words), ...output };
      }),
      {
        method: "DELETE",
        path: /^\/v1\/tasks\/([\w-]+)$/,
        kind: "cancel",
        answer: () => ({ status: 204, body: null }),
      },
    ],
    // The code of the SDK, `resources/uploads.js`.
    uploads: [
      {
        path: /^\/v1\/uploads$/,
        body: z.strictObject({ filename: z.string(), type: z.literal("ephemeral") }),
        answer: (_links, uploadUrl) => ({
          uploadUrl,
          fields: { key: "fox" },
          runwayUri: "runway://fox",
        }),
      },
    ],
  },
  luma: {
    scheme: "Bearer",
    submits: [
      {
        path: /^\/generations\/video$/,
        body: z.strictObject({ model: z.string(), prompt, callback_url: hookUrl }),
        answer: generation,
      },
    ],
    calls: [
      reading(/^\/generations\/([\w-]+)$/, generation),
      {
        method: "DELETE",
        path: /^\/generations\/([\w-]+)$/,
        kind: "cancel",
        answer: () => ({ status: 204, body: null }),
      },
    ],
  },
  gemini: {
    scheme: null,
    submits: [
      {
        path: /^\/v1\/interactions$/,
        body: z.strictObject({
          model: z.string(),
          input: prompt,
          background: z.literal(true),
          response_format: z.strictObject({ type: z.literal("video"), delivery: z.literal("uri") }),
          webhook_config: z.strictObject({ uris: z.tuple([hookUrl]) }),
        }),
        answer: interaction,
      },
    ],
    calls: [
      reading(/^\/v1(?:beta)?\/interactions\/([\w-]+)$/, interaction),
      {
        method: "POST",
        path: /^\/v1(?:beta)?\/interactions\/([\w-]+)\/cancel$/,
        kind: "cancel",
        answer: (job) => ok(interaction(job)),
      },
    ],
  },
  ark: {
    scheme: "Bearer",
    submits: [
      {
        path: /^\/contents\/generations\/tasks$/,
        body: z.looseObject({
          model: z.string(),
          content: z.tuple([z.strictObject({ type: z.literal("text"), text: prompt })]),
          callback_url: hookUrl,
        }),
        answer: ({ id }) => ({ id }),
      },
    ],
    calls: [
      reading(/^\/contents\/generations\/tasks\/([\w-]+)$/, (job) => {
        const words = {
          queued: "queued",
          running: "running",
          done: "succeeded",
          canceled: "cancelled",
        };
        const content = job.state === "done" ? { content: { video_url: job.output } } : {};
        return { id: job.id, model: "fox", status: inState(job, words), ...content };
      }),
      {
        method: "DELETE",
        path: /^\/contents\/generations\/tasks\/([\w-]+)$/,
        kind: "cancel",
        answer: () => ok({}),
      },
    ],
  },
  dashscope: {
    scheme: "Bearer",
    submits: [
      {
        path: /^\/api\/v1\/services\/aigc\/video-generation\/video-synthesis$/,
        body: z.looseObject({ model: z.string(), input: z.looseObject({ prompt }) }),
        answer: modelStudioTask,
      },
    ],
    calls: [
      reading(/^\/api\/v1\/tasks\/([\w-]+)$/, modelStudioTask),
      {
        method: "POST",
        path: /^\/api\/v1\/tasks\/([\w-]+)\/cancel$/,
        kind: "cancel",
        answer: ({ id }) => ok({ request_id: id }),
      },
    ],
  },
};

function generation(job: SdkJob) {
  const words = { queued: "queued", running: "dreaming", done: "completed", canceled: "failed" };
  return {
    id: job.id,
    generation_type: "video",
    state: inState(job, words),
    assets: job.state === "done" ? { video: job.output } : null,
  };
}

function interaction(job: SdkJob) {
  const words = {
    queued: "in_progress",
    running: "in_progress",
    done: "completed",
    canceled: "cancelled",
  };
  const content = [{ type: "video", uri: job.output }];
  return {
    id: job.id,
    object: "interaction",
    status: inState(job, words),
    ...(job.state === "done" && { steps: [{ type: "model_output", content }] }),
  };
}

function modelStudioTask(job: SdkJob) {
  const words = {
    queued: "PENDING",
    running: "RUNNING",
    done: "SUCCEEDED",
    canceled: "CANCELED",
  };
  const output = { task_id: job.id, task_status: inState(job, words) };
  const link = job.state === "done" ? { video_url: job.output } : {};
  return { request_id: job.id, output: { ...output, ...link } };
}

import { SECOND_MS } from "../../core/time.ts";
import type { UpstreamError } from "../failure.ts";
import { type GatewayJob, gatewayOutputs, needsKey } from "../shared/gateway-links.ts";
import {
  openAiError,
  gatewayRefusal,
  HIDDEN_IN_VIDEOS,
  readVideo,
} from "../shared/gateway-submits.ts";
import {
  IMAGE_JOB_ENDPOINT,
  IMAGE_JOB_READS,
  readResult,
  RESULT_USAGE,
  resultTargetOf,
} from "../shared/openai-results.ts";
import { at, idAt, listAt, numberAt, percentAt, textAt } from "../json-fields.ts";
import type { Observation } from "../observation.ts";
import { isNoOutputByKind, type OutputPlaces } from "../output-search.ts";
import { bearer, provenReadingOf, type UpstreamProvider } from "../provider.ts";
import { standardWebhookWithText } from "../shared/standard-webhook.ts";
import { membersAt, type SubmitTarget } from "../submit.ts";
import { amountsAt } from "../usage.ts";
import { statedMetadata } from "../shared/stated-metadata.ts";

const VIDEOS = "/v1/videos";
/**
 * Job and gateway of a report whose sender is not known. Therefore no link is made from a path in the report, and the
 * content path (the gateway's path with the output) cannot be asked.
 */
const ELSEWHERE: GatewayJob = { id: null, baseUrl: null };
const VIDEO_TARGET: SubmitTarget = {
  model: { pointer: "/model" },
  endpoint: null,
  parameters: membersAt("", ["seed", "size", "seconds", "audio"]),
  answer: "job",
  takesMultipart: true,
  hidden: HIDDEN_IN_VIDEOS,
};

/**
 * Adapter for gateways with the former Videos API of OpenAI, `/v1/videos/{id}`, e.g. litellm, llmgateway, SGLang and
 * new-api. Some of them send hooks, which are events in JSON. They are signed with the text of a secret that the
 * submission contains (https://docs.llmgateway.io).
 */
export const openaiVideos = {
  name: "openai-videos",
  variables: {
    key: "OPENAI_VIDEOS_API_KEY",
    baseUrl: "OPENAI_VIDEOS_BASE_URL",
    webhookSecret: "OPENAI_VIDEOS_WEBHOOK_SECRET",
  },
  baseUrls: null,
  hooks: {
    assurance: "body-signed",
    isOptional: true,
    parameter: "callback_url",
    idParameter: null,
    secretParameter: "callback_secret",
    authenticate: standardWebhookWithText,
    read: readHook,
  },
  linkLife: null,
  needsKey,
  usageNames: ["cost", "duration_seconds", ...RESULT_USAGE],
  polls: {
    gapMs: 1_000,
    maxAgeMs: null,
    endpoint: IMAGE_JOB_ENDPOINT,
    headers: bearer,
    path: ({ id, endpoint }) => `/v1/${endpoint ?? "videos"}/${encodeURIComponent(id)}`,
    read: ({ body }, { id }, baseUrl) => {
      const job = jobIn(body);
      return provenReadingOf(observe(job, stateIn(job), { id, baseUrl }));
    },
  },
  submits: {
    target: targetOf,
    refusal: gatewayRefusal,
    readAnswer: (body, path, baseUrl) =>
      path === VIDEOS
        ? readVideo(observe(body, stateIn(body), { id: idAt(body, "id"), baseUrl }))
        : readResult(body, path, baseUrl),
  },
  // https://platform.openai.com/docs/api-reference/videos/retrieve; the SDKs read errors in `error`.
  jobCalls: {
    read: [`${VIDEOS}/{id}`, ...IMAGE_JOB_READS],
    // `openai` 7.57.0: `videos.delete`, `videos.downloadContent` and `files.create`.
    cancel: {
      method: "DELETE",
      paths: [`${VIDEOS}/{id}`],
      answer: {
        done: (id) => ({ status: 200, body: { id, object: "video.deleted", deleted: true } }),
        refused: 400,
      },
    },
    content: { path: `${VIDEOS}/{id}/content` },
    uploads: ["/v1/files"],
    errorBody: openAiError,
  },
} as const satisfies UpstreamProvider;

function targetOf(path: string): SubmitTarget | null {
  return path === VIDEOS ? VIDEO_TARGET : resultTargetOf(path);
}

/**
 * Returns the report on a job that a hook contains. The state is the status of the video in the hook. The type of the
 * event is used only when there is no status, because it is "failed" for a canceled job too.
 */
function readHook(body: unknown): Observation | null {
  const event = /^video\.(.+)$/.exec(textAt(body, "type") ?? "")?.[1] ?? null;
  if (event === null) return null;
  const video = at(body, "data");
  const observation = observe(video, textAt(video, "status") ?? event, ELSEWHERE);
  // Where the job has a member of its own, `id` is the id of the event.
  const jobId = idAt(video, "video_id");
  return observation === null || jobId === null ? observation : { ...observation, jobId };
}

/** Returns the description of a job in an answer. That of a job for images can be in `data` (APIMart). */
function jobIn(body: unknown): unknown {
  const data = at(body, "data");
  return idAt(body, "id") === null && idAt(data, "id") !== null ? data : body;
}

/**
 * Returns the state of a job, which some gateways state only in the first item of `data`. A description of a video that
 * has no state, no error and no link is that of a job just submitted, which counts as queued.
 */
function stateIn(body: unknown): string | null {
  const stated = textAt(body, "status") ?? textAt(body, "data", 0, "status");
  const isNew = at(body, "object") === "video" && at(body, "error") == null;
  const hasLinks = () => gatewayOutputs(outputsOf(body), ELSEWHERE).urls.length > 0;
  return stated ?? (isNew && !hasLinks() ? "queued" : null);
}

function observe(video: unknown, state: string | null, job: GatewayJob): Observation | null {
  const jobId = idAt(video, "id");
  if (jobId === null && state === null) return null;
  const completedAt = numberAt(video, "completed_at");
  return {
    jobId,
    state,
    ...gatewayOutputs(outputsOf(video), job),
    // `seconds` and `size` of the job are those that were asked for.
    metadata: statedMetadata(
      at(video, "video"),
      at(video, "metadata"),
      { duration_seconds: at(video, "usage", "duration_seconds") },
      video,
    ),
    completedAt: completedAt === null ? null : completedAt * SECOND_MS,
    error: errorIn(video),
    progress: percentAt(video, "progress"),
    usage: { cost: numberAt(video, "cost"), ...amountsAt(video, "usage") },
  };
}

/** Returns the parts of an answer that contain links to a video. Each gateway may write the links in another field. */
function outputsOf(video: unknown): OutputPlaces {
  const contents = listAt(video, "content").filter((part) => !isNoOutputByKind(part));
  const main = [
    at(video, "url"),
    at(video, "metadata", "url"),
    at(video, "video", "url"),
    at(video, "video_url"),
    at(video, "output_url"),
    at(video, "urls"),
    ...contents.map((part) => at(part, "url")),
  ];
  return { main, part: video };
}

function errorIn(video: unknown): UpstreamError | null {
  const code = textAt(video, "error", "code");
  const text = textAt(video, "error", "message") ?? textAt(video, "error");
  return code === null && text === null
    ? null
    : { code, text, refusal: gatewayRefusal(400, video) };
}

import { SECOND_MS } from "../../core/time.ts";
import type { UpstreamError } from "../failure.ts";
import { keyedLinks, needsKey, openLinks } from "../shared/gateway-links.ts";
import {
  hasNoChannel,
  HIDDEN_IN_VIDEOS,
  IMAGES_PATH,
  IMAGES_TARGET,
  readImages,
  readVideo,
} from "../shared/gateway-submits.ts";
import { at, idAt, listAt, numberAt, percentAt, textAt } from "../json-fields.ts";
import type { Observation } from "../observation.ts";
import { bearer, provenReadingOf, type UpstreamProvider } from "../provider.ts";
import { standardWebhookWithText } from "../shared/standard-webhook.ts";
import { membersAt, type SubmitTarget } from "../submit.ts";
import { amountsAt } from "../usage.ts";
import { statedMetadata } from "../shared/stated-metadata.ts";

const VIDEOS = "/v1/videos";
const VIDEO_TARGET: SubmitTarget = {
  model: { pointer: "/model" },
  endpoint: null,
  parameters: membersAt("", ["seed", "size", "seconds", "audio"]),
  answer: "job",
  takesMultipart: true,
  hidden: HIDDEN_IN_VIDEOS,
};

/**
 * Adapter for gateways with the former Videos API of OpenAI, `/v1/videos/{id}`, e.g. litellm, llmgateway, SGLang
 * and new-api. Some of them send hooks: events that are signed with the text of a secret that the submit call
 * contains (https://docs.llmgateway.io).
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
  usageNames: ["cost", "duration_seconds"],
  polls: {
    gapMs: 1_000,
    maxAgeMs: null,
    endpoint: null,
    headers: bearer,
    path: ({ id }) => `${VIDEOS}/${encodeURIComponent(id)}`,
    read: ({ body }, _job, baseUrl) => provenReadingOf(observe(body, stateIn(body), baseUrl)),
  },
  submits: {
    target: targetOf,
    refuses: hasNoChannel,
    readAnswer: (body, path, baseUrl) =>
      path === IMAGES_PATH
        ? readImages(body, baseUrl)
        : readVideo(observe(body, stateIn(body), baseUrl)),
  },
} as const satisfies UpstreamProvider;

function targetOf(path: string): SubmitTarget | null {
  if (path === IMAGES_PATH) return IMAGES_TARGET;
  return path === VIDEOS ? VIDEO_TARGET : null;
}

/**
 * Returns the event of a hook as a report on a job. The state is the status of the video in the event, because the
 * type of the event is "failed" for a canceled job too. Only without a status, the type is used.
 */
function readHook(body: unknown): Observation | null {
  const event = /^video\.(.+)$/.exec(textAt(body, "type") ?? "")?.[1] ?? null;
  if (event === null) return null;
  const video = at(body, "data");
  const observation = observe(video, textAt(video, "status") ?? event, null);
  // Where the job has a member of its own, `id` is the id of the event.
  const jobId = idAt(video, "video_id");
  return observation === null || jobId === null ? observation : { ...observation, jobId };
}

/**
 * Returns the state of a job. Some gateways state it only in the one element of a list. A video without a state, an error
 * and a link has just been submitted and counts as queued.
 */
function stateIn(body: unknown): string | null {
  const isNew = at(body, "object") === "video" && at(body, "error") == null;
  return (
    textAt(body, "status") ??
    textAt(body, "data", 0, "status") ??
    (isNew && linksIn(body, (values) => openLinks(values, null)).length === 0 ? "queued" : null)
  );
}

function observe(video: unknown, state: string | null, baseUrl: string | null): Observation | null {
  const jobId = idAt(video, "id");
  if (jobId === null && state === null) return null;
  const completedAt = numberAt(video, "completed_at");
  return {
    jobId,
    state,
    urls: linksIn(video, (values) => openLinks(values, baseUrl)),
    keyedUrls: linksIn(video, (values) => keyedLinks(values, baseUrl)),
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

/**
 * Returns the links of a video. Each gateway may write them in another field. The first field with a usable link
 * counts.
 * @param usable returns the usable links among the values of a field.
 */
function linksIn(
  video: unknown,
  usable: (values: readonly unknown[]) => readonly string[],
): readonly string[] {
  const fields = [
    [at(video, "url")],
    [at(video, "metadata", "url")],
    [at(video, "video", "url")],
    [at(video, "video_url")],
    [at(video, "output_url")],
    listAt(video, "urls"),
    listAt(video, "content").map((part) => at(part, "url")),
  ];
  return fields.map(usable).find(({ length }) => length > 0) ?? [];
}

function errorIn(video: unknown): UpstreamError | null {
  const code = textAt(video, "error", "code");
  const text = textAt(video, "error", "message") ?? textAt(video, "error");
  return code === null && text === null ? null : { code, text };
}

import { isHttpUrl } from "../../core/url.ts";
import { SECOND_MS } from "../../core/time.ts";
import { readArkTask } from "../ark/ark.ts";
import type { UpstreamError } from "../failure.ts";
import {
  type GatewayJob,
  gatewayOutputs,
  type GatewayPlaces,
  needsKey,
} from "../shared/gateway-links.ts";
import { gatewayRefusal, HIDDEN_IN_VIDEOS, readVideo } from "../shared/gateway-submits.ts";
import {
  IMAGE_JOB_ENDPOINT,
  IMAGE_JOB_READS,
  readResult,
  RESULT_USAGE,
  resultTargetOf,
} from "../shared/openai-results.ts";
import type { JobPath } from "../job-calls.ts";
import { at, idAt, numberAt, percentAt, textAt } from "../json-fields.ts";
import type { Metadata, Observation } from "../observation.ts";
import type { Answer } from "../provider-answer.ts";
import {
  bearer,
  noSignature,
  type Reading,
  provenReadingOf,
  UNCLEAR,
  type UpstreamProvider,
} from "../provider.ts";
import { firstStated, statedMetadata } from "../shared/stated-metadata.ts";
import { membersAt, type SubmitReading, type SubmitTarget } from "../submit.ts";
import { amountsAt } from "../usage.ts";

/**
 * Paths at which a video job is submitted to a new-api gateway. Both start the same jobs, which are all polled at the
 * same path.
 */
const VIDEO_PATHS: readonly JobPath[] = ["/v1/video/generations", "/v1/videos"];
const VIDEO_TARGET: SubmitTarget = {
  model: { pointer: "/model" },
  endpoint: null,
  parameters: {
    ...membersAt("/metadata", ["seed", "ratio", "aspect_ratio", "resolution", "generate_audio"]),
    ...membersAt("", ["duration", "seconds", "size"]),
  },
  answer: "job",
  takesMultipart: true,
  hidden: HIDDEN_IN_VIDEOS,
};

/**
 * Job and gateway of a hook: neither is known, because the sender of a hook is not known. Therefore no link is made
 * from a path in the hook, and the content path (the gateway's path with the output) cannot be asked.
 */
const ELSEWHERE: GatewayJob = { id: null, baseUrl: null };

/** Paths at which gateways accept the calls of Kling's own API. Jobs started in this way are polled like all others. */
const KLING_PATHS: readonly JobPath[] = [
  "/kling/v1/videos/text2video",
  "/kling/v1/videos/image2video",
];
/**
 * A call of Kling's own API to a new-api gateway. The hook URL is in the member in which Kling expects it, because the
 * gateway passes the whole body on as the metadata of the video
 * (https://github.com/QuantumNous/new-api/blob/main/middleware/kling_adapter.go).
 */
const KLING_TARGET: SubmitTarget = {
  model: { pointer: "/model_name" },
  endpoint: null,
  parameters: membersAt("", ["duration", "aspect_ratio"]),
  answer: "job",
  // The gateway writes the members of the metadata over its own request, so that `model` would replace `model_name`.
  hidden: { ...HIDDEN_IN_VIDEOS, pointers: [...HIDDEN_IN_VIDEOS.pointers, "/model"] },
  hookParameters: { parameter: "callback_url", idParameter: null },
};

/**
 * Adapter for gateways that run new-api or a fork of it (https://github.com/QuantumNous/new-api). new-api itself sends
 * no hooks. Some gateways pass the hook URL on to their own upstream, whose hooks then name a job of that upstream.
 * Some resellers send a hook at every change of a job. None of these hooks is signed.
 */
export const newapi = {
  name: "newapi",
  variables: { key: "NEWAPI_API_KEY", baseUrl: "NEWAPI_BASE_URL" },
  baseUrls: null,
  hooks: {
    assurance: "capability-url",
    isOptional: true,
    parameter: "metadata.callback_url",
    idParameter: null,
    authenticate: noSignature,
    read: readHook,
  },
  linkLife: null,
  needsKey,
  usageNames: ["quota", ...RESULT_USAGE],
  polls: {
    gapMs: 1_000,
    maxAgeMs: null,
    endpoint: IMAGE_JOB_ENDPOINT,
    headers: bearer,
    path: ({ id, endpoint }) => `/v1/${endpoint ?? "video/generations"}/${encodeURIComponent(id)}`,
    read: (answer, { id }, baseUrl) => readAnswer(answer, { id, baseUrl }),
  },
  submits: {
    target: targetOf,
    refusal: gatewayRefusal,
    // Errors of calls for images have the form of OpenAI, those of calls for videos another one.
    readAnswer: readSubmitAnswer,
  },
  // https://github.com/QuantumNous/new-api/blob/main/router/video-router.go: all of these paths read a task that was
  // submitted at any of them. Errors have a code and a text, which the SDKs of OpenAI look for in `error`.
  jobCalls: {
    read: [
      ...[...VIDEO_PATHS, ...KLING_PATHS].map((path): JobPath => `${path}/{id}`),
      ...IMAGE_JOB_READS,
    ],
    content: { path: "/v1/videos/{id}/content" },
    // Releases that have no files refuse the call themselves.
    uploads: ["/v1/files"],
    errorBody: (status, message) => {
      const code = ERROR_CODES.get(status) ?? "get_task_failed";
      const error = { message, type: "new_api_error", param: null, code };
      return { code, message, data: null, error };
    },
  },
} as const satisfies UpstreamProvider;

/** Error codes in the form of new-api that the relay writes into its own errors about a call, by HTTP status. */
const ERROR_CODES: ReadonlyMap<number, string> = new Map([
  [404, "task_not_exist"],
  [503, "service_unavailable"],
]);

function targetOf(path: string): SubmitTarget | null {
  const isAmong = (paths: readonly string[]) => paths.includes(path);
  if (isAmong(KLING_PATHS)) return KLING_TARGET;
  return isAmong(VIDEO_PATHS) ? VIDEO_TARGET : resultTargetOf(path);
}

/**
 * Returns the meaning of the answer to a submission. In some answers of releases of 2025 only `id` is present, and is
 * the id of the job; in the answer to a poll, however, `id` may be the number of a database row. An error with HTTP 200
 * to 299 and without an id does not prove that no job was started. new-api treats every HTTP status of its upstream
 * other than 200 as a failure (`fail_to_fetch_task`) and passes this status on, so a job that its upstream has accepted
 * with 201 or 202 looks like a failure.
 */
function readSubmitAnswer(body: unknown, path: string, baseUrl: string): SubmitReading {
  if (resultTargetOf(path) !== null) return readResult(body, path, baseUrl);
  const task = taskIn(body);
  const jobId = idAt(task, "task_id") ?? textAt(body, "id");
  const job = { id: jobId, baseUrl };
  return readVideo({ ...observe(body, task, job), jobId, state: stateOf(task) });
}

/**
 * Returns what an answer to a poll says. A gateway that could not ask its own upstream may answer with HTTP 200 and an
 * error in the member `code`.
 */
function readAnswer({ body }: Answer, job: GatewayJob): Reading {
  const code = textAt(body, "code") ?? "success";
  if (code.toLowerCase() !== "success") return { kind: "unclear", word: code };
  const task = taskIn(body);
  // The field `id` may be the number of a row in the gateway's database, and `task_id` the id at the gateway's upstream.
  const jobId = idAt(task, "id") === job.id ? job.id : idAt(task, "task_id");
  const state = stateOf(task);
  if (jobId === null && state === null) return UNCLEAR;
  return provenReadingOf({ ...observe(body, task, job), jobId, state });
}

/**
 * Returns the report on a job that a hook contains. The job id in the hook is ignored, because it may be the id of a
 * job at the gateway's own upstream.
 */
function readHook(body: unknown): Observation | null {
  const task = taskIn(body);
  const state = stateOf(task) ?? stateOf(body);
  return state === null ? null : { ...observe(body, task, ELSEWHERE), jobId: null, state };
}

/**
 * Returns the object that describes the task in an answer or a hook. It is the body itself if the body names a task and
 * its state, otherwise the member `data` of the body.
 */
function taskIn(body: unknown): unknown {
  if (idAt(body, "task_id") !== null && stateOf(body) !== null) return body;
  const data = at(body, "data");
  return typeof data === "object" && data !== null ? data : body;
}

/**
 * Returns the state of a task. For calls of Kling's own API, the member with the state has another name
 * (`task_status`).
 */
function stateOf(task: unknown): string | null {
  return textAt(task, "status") ?? textAt(task, "task_status");
}

function observe(
  body: unknown,
  task: unknown,
  job: GatewayJob,
): Omit<Observation, "jobId" | "state"> {
  // This is the answer of the gateway's own upstream. Its status may be outdated and is not read.
  const raw = readArkTask(at(task, "data"));
  const finishedAt = numberAt(task, "finish_time") ?? 0;
  return {
    ...gatewayOutputs(outputsOf(body, task), job),
    metadata: metadataIn(task, raw),
    completedAt: finishedAt > 0 ? finishedAt * SECOND_MS : null,
    error: errorIn(body, task),
    progress: percentAt(task, "progress"),
    usage: {
      quota: numberAt(task, "quota"),
      ...amountsAt(task, "usage"),
      ...amountsAt(task, "data", "usage"),
    },
  };
}

/**
 * Returns the metadata of the output. They are taken from the member `metadata` of the task and from the first output
 * in the answer of the gateway's own upstream, which describe the result. Members beside the state can be mere copies
 * from the request, so they are used last; but for a task of Ark they describe the output.
 */
function metadataIn(task: unknown, ark: Observation | null): Metadata {
  const inner = at(task, "data");
  const outputs = [inner, at(inner, "data"), task].flatMap((place) => [
    at(place, "task_result", "videos", 0),
    at(place, "creations", 0),
  ]);
  const made = statedMetadata(at(task, "metadata"), at(inner, 0, "metadata"), ...outputs);
  return firstStated(made, ark?.metadata ?? {}, statedMetadata(inner, task));
}

/**
 * Returns the parts of an answer that contain links to the outputs of a task. Those of the gateway come first, then
 * those in the answer of the gateway's own upstream. Older new-api servers write the link into `fail_reason`.
 */
function outputsOf(body: unknown, task: unknown): GatewayPlaces {
  const main = [
    at(task, "result_url"),
    at(task, "fail_reason"),
    at(task, "url"),
    at(body, "url"),
    at(task, "metadata", "url"),
    at(task, "output", "video_url"),
    at(task, "content", "video_url"),
    at(task, "videoUrl"),
    at(task, "videoUrls"),
  ];
  return { main, part: body, inner: at(task, "data"), isLeftOut: isCoverOfSong };
}

/** Tells whether a member is the cover picture that Suno makes for a song, in an object that describes the song. */
function isCoverOfSong(name: string, owner: object): boolean {
  return /^image_(?:large_)?url$/.test(name) && textAt(owner, "audio_url") !== null;
}

function errorIn(body: unknown, task: unknown): UpstreamError | null {
  const [inTask, inBody] = [at(task, "error"), at(body, "error")];
  const code = textAt(inTask, "code") ?? textAt(inBody, "code");
  const message = textAt(inTask, "message") ?? textAt(inBody, "message");
  const reason = textAt(task, "fail_reason") ?? textAt(task, "failReason");
  const text = reason ?? message ?? reasonInUrl(task);
  return code === null && text === null
    ? null
    : { code, text, refusal: gatewayRefusal(400, { code }) };
}

/**
 * Returns the reason of a failure that older new-api servers write into the member `url`. Null when `url` contains a
 * link or a path.
 */
function reasonInUrl(task: unknown): string | null {
  const text = textAt(task, "url") ?? "";
  return text === "" || text.startsWith("/") || isHttpUrl(text) ? null : text;
}

import type { FailureCategory } from "../../core/record/upstream.ts";
import type { UpstreamError } from "../failure.ts";
import { at, firstAt, idAt, isoMsAt, jsonAt, listAt, numberAt, textAt } from "../json-fields.ts";
import type { Observation } from "../observation.ts";
import { outputLinks } from "../output-search.ts";
import { statedMetadata } from "../shared/stated-metadata.ts";

/** Words for states that only kie.ai uses, each with a word that the relay knows for the same state. */
const STATES: ReadonlyMap<string, string> = new Map([
  ["wait", "waiting"],
  ["TEXT_SUCCESS", "generating"],
  ["FIRST_SUCCESS", "generating"],
]);
/** States of jobs by the number `successFlag`, which some of kie.ai's APIs report instead of a state. */
const FLAGS: ReadonlyMap<number, string> = new Map([
  [0, "generating"],
  [1, "success"],
  [2, "fail"],
  [3, "fail"],
]);
/**
 * Values of `callbackType` in those hooks of kie.ai that report one finished part of a music job (Suno). The job is
 * then still running.
 */
const STEPS: readonly string[] = ["text", "first"];
/**
 * Values of the member `code` with which kie.ai's answer to a poll says that the job has failed, with the category of
 * the failure if the code shows one: 501 means a generation that has failed, 408 that kie.ai's own upstream has
 * returned no result for ten minutes (https://docs.kie.ai/market/common/get-task-detail). All other codes are about the
 * request: a job that is not known yet (404, 422), maintenance (455), a fault of the server (500).
 */
const ENDS: ReadonlyMap<number | null, FailureCategory | null> = new Map([
  [408, "timeout"],
  [501, null],
]);
/** Names of the members in which answers of kie.ai's APIs have the main outputs. */
const MAIN: readonly string[] = [
  "resultUrls",
  "result_urls",
  "resultVideoUrl",
  "result_video_url",
  "videoUrl",
  "video_url",
  "resultImageUrl",
  "result_image_url",
];
/** Paths, below `data`, at which answers of kie.ai's APIs may contain lists of songs. */
const SONGS: readonly (readonly string[])[] = [
  ["response", "sunoData"],
  ["response", "data"],
  ["data"],
];

/** Names under which answers state the credits that a job has cost, the documented name first. */
const CREDITS = ["consumeCredits", "creditsConsumed"];

/** Returns the report on a job that an answer to a poll contains, for all of kie.ai's APIs. */
export function observe(body: unknown): Observation | null {
  const jobId = jobIdOf(body);
  if (jobId === null) return null;
  const job = at(body, "data");
  const urls = outputsOf(job);
  const completedAt = numberAt(job, "completeTime") ?? isoMsAt(job, "completeTime");
  const submitted = jsonAt(job, "param");
  const response = at(job, "response");
  return {
    jobId,
    hookUrl: textAt(submitted, "callBackUrl"),
    state: stateOf(job, urls),
    urls,
    metadata: statedMetadata(songsOf(job)[0], response, at(submitted, "input")),
    completedAt: completedAt === 0 ? null : completedAt,
    error: errorOf(job),
    usage: { consumeCredits: firstAt(job, CREDITS, numberAt) },
  };
}

/**
 * Reads from the member `code` how a job has ended, for an answer that contains no report on the job. Null when the
 * code shows no end.
 */
export function endOf(body: unknown): Observation | null {
  const code = numberAt(body, "code");
  const category = ENDS.get(code);
  if (category === undefined || stateOf(at(body, "data"), []) !== null) return null;
  const error = { code: String(code), text: textAt(body, "msg") };
  return {
    jobId: jobIdOf(body),
    state: "fail",
    urls: [],
    metadata: {},
    completedAt: null,
    error: category === null ? error : { ...error, category },
  };
}

/**
 * Returns the report on a job that a hook contains. Hooks about jobs of `createTask` have the form of answers to polls.
 * Hooks of the older APIs contain no state: their member `code` distinguishes success from failure, and Suno sends one
 * hook for each finished part.
 */
export function observeHook(body: unknown): Observation | null {
  const observation = observe(body);
  const code = numberAt(body, "code");
  if (observation === null || observation.state !== null || code === null) return observation;
  const step = textAt(body, "data", "callbackType");
  const isLast = step === null || step === (code === 200 ? "complete" : "error");
  if (!isLast) return { ...observation, state: STEPS.includes(step) ? "generating" : null };
  if (code !== 200) return { ...observation, state: "fail", error: hookError(code, body) };
  return { ...observation, state: observation.urls.length > 0 ? "success" : null };
}

/**
 * Returns the job id in an answer or a hook; each of kie.ai's APIs may write it at another path. Null when there is
 * none.
 */
export function jobIdOf(body: unknown): string | null {
  return idAt(body, "data", "taskId") ?? idAt(body, "data", "task_id") ?? idAt(body, "taskId");
}

function stateOf(job: unknown, urls: readonly string[]): string | null {
  const flag = numberAt(job, "successFlag");
  if (flag !== null) return FLAGS.get(flag) ?? String(flag);
  const state = textAt(job, "state") ?? textAt(job, "status");
  // In this state the job has succeeded, and only the delivery of its hook has failed.
  if (state === "CALLBACK_EXCEPTION" && urls.length > 0) return "success";
  return STATES.get(state ?? "") ?? state;
}

function outputsOf(job: unknown): readonly string[] {
  const results = resultsOf(job).flatMap((result) =>
    MAIN.filter((name) => !isNoOutput(name, result)).map((name) => at(result, name)),
  );
  const songs = songsOf(job).map((song) => textAt(song, "audioUrl") ?? textAt(song, "audio_url"));
  return outputLinks({ main: [...results, ...songs], part: job, isLeftOut: isNoOutput });
}

/** Returns those values in an answer of one of kie.ai's APIs that may be or contain the main outputs. */
function resultsOf(job: unknown): readonly unknown[] {
  const result = jsonAt(job, "resultJson") ?? at(job, "resultJson");
  return [result, at(job, "response"), at(job, "info"), at(job, "videoInfo"), job];
}

/**
 * Tells whether a member of an answer is no output according to kie.ai's documents. This is so for the picture of a
 * song or a video if the same object has the link to the song or video, for the URL from which kie.ai has fetched a
 * song, and for the song of which the voices were separated.
 */
function isNoOutput(name: string, owner: unknown): boolean {
  const names = typeof owner === "object" && owner !== null ? Object.keys(owner) : [];
  if (/^(?:result_?)?image_?(?:large_?)?url$/i.test(name)) {
    return names.some((other) => /(?:audio|video)_?url$/i.test(other));
  }
  if (/^source_?stream_?audio/i.test(name)) return true;
  return /^origin_?url$/i.test(name) && names.some((other) => /^vocal_?url$/i.test(other));
}

function songsOf(job: unknown): readonly unknown[] {
  return SONGS.flatMap((path) => listAt(job, ...path));
}

function errorOf(job: unknown): UpstreamError {
  const code = idAt(job, "failCode") ?? idAt(job, "errorCode") ?? textAt(job, "status");
  return { code, text: textAt(job, "failMsg") ?? textAt(job, "errorMessage") };
}

function hookError(code: number, body: unknown): UpstreamError {
  const error = { code: String(code), text: textAt(body, "msg") };
  // With this code Suno reports that the audio matches an existing work.
  if (code === 413) return { ...error, category: "moderation" };
  return code === 451 ? { ...error, category: "invalid_input" } : error;
}

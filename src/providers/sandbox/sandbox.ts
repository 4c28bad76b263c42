import type { Job } from "../../core/record/upstream.ts";
import { failure, type Result, success } from "../../core/result.ts";
import { SECOND_MS } from "../../core/time.ts";
import { idAt } from "../json-fields.ts";
import type { Observation } from "../observation.ts";
import { readImages } from "../shared/openai-results.ts";
import type { SimulatedAnswer, SimulatedProvider, SimulatedStart } from "../simulated-provider.ts";
import { refusalOfStatus } from "../submit-refusal.ts";
import { jobReadingOf, type SubmitTarget } from "../submit.ts";
import { FOX } from "./fox-picture.ts";

const VIDEO = "https://example.com/sandbox.mp4";
const METADATA = {
  seed: 42,
  ratio: "16:9",
  duration: 5,
  resolution: "720p",
  generate_audio: false,
  framespersecond: 24,
};
const MODERATED = {
  code: "OutputVideoSensitiveContentDetected",
  text: "The request failed because the output video may contain sensitive information.",
};

/**
 * Simulated models of jobs. Each has the time in milliseconds until its job ends (`doneMs`), the error with which the job ends
 * (null: none), and the deadline of the task in milliseconds (null: the relay's default).
 */
const MODELS = {
  "sandbox/ok": { doneMs: 0, error: null, deadlineMs: null },
  "sandbox/moderated": { doneMs: 0, error: MODERATED, deadlineMs: null },
  // This job ends like a job whose hook was lost: only a poll finds the result.
  "sandbox/lost-hook": { doneMs: 15 * SECOND_MS, error: null, deadlineMs: null },
  "sandbox/slow": { doneMs: 45 * SECOND_MS, error: null, deadlineMs: null },
  // This job never ends. Its deadline is short, so that a timeout can be seen without waiting for days.
  "sandbox/late": { doneMs: Infinity, error: null, deadlineMs: 20 * SECOND_MS },
} as const;
/** Simulated model whose answer is the picture itself, as at many upstreams, and the time until it answers. */
const IMAGE_MODEL = "sandbox/image";
const IMAGE_AFTER_MS = 20 * SECOND_MS;

const JOBS_PATH = "/jobs";
/** Path of the calls for pictures, spelled as below the base URL of OpenAI, so that its SDK can make them. */
const IMAGES_PATH = "/images/generations";
const CALL = { model: { pointer: "/model" }, endpoint: null, parameters: {} } as const;
const TARGETS: ReadonlyMap<string, SubmitTarget> = new Map<string, SubmitTarget>([
  [JOBS_PATH, { ...CALL, answer: "job" }],
  [IMAGES_PATH, { ...CALL, answer: "result" }],
]);

/**
 * Simulated provider with which developers test their receivers. The `model` of a task decides how its simulated job
 * ends, and is also the id of this job.
 */
export const sandbox: SimulatedProvider = {
  name: "sandbox",
  hooks: null,
  polls: null,
  simulation: {
    limits: {
      hookWaitMs: null,
      gapMs: SECOND_MS,
      maxAgeMs: null,
      isIdEnough: true,
      isTaskNamed: false,
      isCreationStated: false,
    },
    submitPaths: [...TARGETS.keys()],
    submits: {
      target: (path) => TARGETS.get(path) ?? null,
      refusal: refusalOfStatus,
      readAnswer: (body, path, baseUrl) =>
        path === IMAGES_PATH ? readImages(body, baseUrl) : jobReadingOf(idAt(body, "id"), null),
    },
    start,
    answer,
    observe,
  },
};

function start(model: string, path: string | null): Result<SimulatedStart, string> {
  if (path === IMAGES_PATH) {
    return model === IMAGE_MODEL
      ? success({ job: null, deadlineMs: null })
      : failure(`must be ${IMAGE_MODEL}`);
  }
  const settings = settingsOf(model);
  if (settings === null) return failure(`must be one of ${Object.keys(MODELS).join(", ")}`);
  return success({ job: { id: model, endpoint: null }, deadlineMs: settings.deadlineMs });
}

function answer(model: string, path: string, now: number): SimulatedAnswer {
  if (path === JOBS_PATH) return { body: { id: model, status: "queued" }, afterMs: 0 };
  const created = Math.floor((now + IMAGE_AFTER_MS) / SECOND_MS);
  return { body: { created, data: [{ b64_json: FOX }] }, afterMs: IMAGE_AFTER_MS };
}

function observe({ id }: Job, ageMs: number): Observation {
  // A job that was attached with another id ends like that of the simplest model.
  const { doneMs, error } = settingsOf(id) ?? MODELS["sandbox/ok"];
  const isDone = ageMs >= doneMs;
  const ended = error === null ? "succeeded" : "failed";
  return {
    jobId: id,
    state: isDone ? ended : "running",
    urls: isDone && error === null ? [VIDEO] : [],
    metadata: METADATA,
    completedAt: null,
    error: isDone ? error : null,
    progress: isDone ? null : (100 * ageMs) / doneMs,
  };
}

function settingsOf(model: string) {
  return Object.entries(MODELS).find(([name]) => name === model)?.[1] ?? null;
}

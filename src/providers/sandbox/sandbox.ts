import type { Job } from "../../core/record/upstream.ts";
import { failure, type Result, success } from "../../core/result.ts";
import { SECOND_MS } from "../../core/time.ts";
import type { Observation } from "../observation.ts";
import type { SimulatedProvider, StartedJob, SubmittedJob } from "../simulated-provider.ts";

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
 * Simulated models. Each has the time in milliseconds until its job ends (`doneMs`), the error with which the job ends
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
    start,
    submitPath: "/jobs",
    submit: (model) => submitted(model ?? ""),
    observe,
  },
};

function start(model: string): Result<StartedJob, string> {
  const settings = settingsOf(model);
  if (settings === null) return failure(`must be one of ${Object.keys(MODELS).join(", ")}`);
  return success({ job: { id: model, endpoint: null }, deadlineMs: settings.deadlineMs });
}

function submitted(model: string): Result<SubmittedJob, string> {
  const started = start(model);
  if (!started.ok) return started;
  const answer = JSON.stringify({ id: started.value.job.id, status: "queued" });
  return success({ ...started.value, answer });
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

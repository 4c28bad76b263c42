import type { Job } from "../core/record/upstream.ts";
import type { Observation } from "./observation.ts";

/** The provider that finishes by itself, without any upstream: for developers of receivers. */
export const SANDBOX = "sandbox";

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

/** What each model does, and after how many milliseconds; `late` not within any deadline. */
const MODELS = {
  "sandbox/ok": { doneMs: 0, error: null },
  "sandbox/moderated": { doneMs: 0, error: MODERATED },
  // Its hook, which would have brought the poll forward, never comes.
  "sandbox/lost-hook": { doneMs: 15_000, error: null },
  "sandbox/slow": { doneMs: 45_000, error: null },
  "sandbox/late": { doneMs: Infinity, error: null },
} as const;

export const SANDBOX_MODELS: readonly string[] = Object.keys(MODELS);
export const SANDBOX_LATE = "sandbox/late";
/** Short, so that nobody waits for days to see a timeout. */
export const SANDBOX_LATE_DEADLINE_MS = 20_000;

/** @param ageMs since the task was created. */
export function sandboxObservation({ id }: Job, ageMs: number): Observation {
  const { doneMs, error } = modelOf(id);
  const isDone = ageMs >= doneMs;
  const ended = error === null ? "succeeded" : "failed";
  return {
    jobId: id,
    state: isDone ? ended : "running",
    urls: isDone && error === null ? [VIDEO] : [],
    metadata: METADATA,
    completedAt: null,
    error: isDone ? error : null,
  };
}

function modelOf(id: string) {
  const known = Object.entries(MODELS).find(([name]) => name === id);
  return known?.[1] ?? MODELS["sandbox/ok"];
}

import type { JsonObject } from "../core/json.ts";
import type { UpstreamNews } from "../core/record/upstream.ts";
import { type ErrorText, type UpstreamError, failureOf } from "./failure.ts";
import { phaseOf } from "./phase.ts";

/** What a provider says of a job, in our words but without a verdict. */
export interface Observation {
  /** The provider's id of the job; null: it does not say. */
  readonly jobId: string | null;
  /** Our own task id, where it was given at submission and came back. */
  readonly taskId?: string | null;
  /** As the provider spells it. */
  readonly state: string | null;
  readonly urls: readonly string[];
  readonly metadata: Metadata;
  /** Unix milliseconds; null: not told. */
  readonly completedAt: number | null;
  readonly error: UpstreamError | null;
}

/** The metadata of the wire contract; null: the provider does not say. */
export interface Metadata {
  readonly seed?: number | null;
  readonly ratio?: string | null;
  readonly duration?: number | null;
  readonly resolution?: string | null;
  readonly generate_audio?: boolean | null;
  readonly framespersecond?: number | null;
}

/** The same limit as for times of events. */
const MAX_TIME_MS = 99_999_999_999_000;

/** What an observation means for the task; null: its state is not one that we know. */
export function toNews(observation: Observation, errorText: ErrorText): UpstreamNews | null {
  const { state, urls, completedAt } = observation;
  const phase = phaseOf(state);
  switch (phase) {
    case null:
      return null;
    case "queued":
    case "processing":
      return { status: phase };
    case "completed":
      if (urls.length === 0) return { status: "no_output" };
      return {
        status: "completed",
        completedAt: timeOf(completedAt),
        urls,
        metadata: withoutUnknown(observation.metadata),
      };
    case "failed":
      return failureOf(state ?? "", observation.error, errorText);
  }
}

/** Whole milliseconds within reason; null: a time that nobody can mean. */
function timeOf(ms: number | null): number | null {
  return ms === null || !(ms >= 0 && ms <= MAX_TIME_MS) ? null : Math.round(ms);
}

function withoutUnknown(metadata: Metadata): JsonObject {
  return Object.fromEntries(
    Object.entries(metadata).flatMap(([key, value]) =>
      value === null || value === undefined || value === "" ? [] : [[key, value]],
    ),
  );
}

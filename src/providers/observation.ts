import type { JsonObject } from "../core/json.ts";
import { ratioIn, resolutionIn } from "../core/record/pixels.ts";
import type { UpstreamNews } from "../core/record/upstream.ts";
import { type ErrorText, type UpstreamError, failureOf } from "./failure.ts";
import { phaseOf } from "./phase.ts";
import { type Amounts, usageOf } from "./usage.ts";

/**
 * An observation: a provider's report on a job, translated to the relay's fields except for the state,
 * which keeps the provider's spelling.
 */
export interface Observation {
  /** The provider's id of the job; null when not reported. */
  readonly jobId: string | null;
  /** The relay's task id, where the submit call contained it and the provider echoes it. */
  readonly taskId?: string | null;
  /** The hook URL of the submit call, where the provider echoes it. */
  readonly hookUrl?: string | null;
  /** State of the job as the provider spells it; null when not reported. */
  readonly state: string | null;
  readonly urls: readonly string[];
  readonly metadata: Metadata;
  /** Time at which the job completed, in Unix milliseconds; null when not reported. */
  readonly completedAt: number | null;
  readonly error: UpstreamError | null;
  /** Progress of the job in percent, as the provider states it; null or absent when it states none. */
  readonly progress?: number | null;
  /**
   * Consumption or cost of the job, as the provider states it; it is used only when the report says that the
   * job has ended. Null or absent when not stated.
   */
  readonly usage?: Amounts | null;
}

/** Metadata of the output, as the JSON of a task shows it; a field is null or absent when not reported. */
export interface Metadata {
  readonly seed?: number | null;
  /** Ratio of width to height, or a size in pixels, as the provider spells it. */
  readonly ratio?: string | null;
  readonly duration?: number | null;
  /** Resolution, or a size in pixels, as the provider spells it. */
  readonly resolution?: string | null;
  readonly generate_audio?: boolean | null;
  readonly framespersecond?: number | null;
}

/**
 * Latest completion time that is accepted from a provider's report, in Unix milliseconds; a report with a
 * later one counts as stating none. The events by which upstreams report results have the same limit.
 */
const MAX_TIME_MS = 99_999_999_999_000;

/**
 * Converts a provider's report on a job to the new status of the task, with the result or the failure if the
 * job has ended; null when the relay does not know the state in the report.
 */
export function toNews(observation: Observation, errorText: ErrorText): UpstreamNews | null {
  const { state, urls, completedAt } = observation;
  const phase = phaseOf(state);
  const usage = usageOf(observation.usage ?? null);
  switch (phase) {
    case null:
      return null;
    case "queued":
    case "processing":
      return { status: phase };
    case "completed":
      if (urls.length === 0) return { status: "no_output", ...usage };
      return {
        status: "completed",
        completedAt: timeOf(completedAt),
        urls,
        metadata: withoutUnknown({ ...observation.metadata, ...frameOf(observation.metadata) }),
        ...usage,
      };
    case "failed":
      return { ...failureOf(state ?? "", observation.error, errorText), ...usage };
  }
}

/** Returns the progress in a report on a job as a whole number from 0 to 100; no field when there is none. */
export function progressIn({ progress = null }: Observation): { readonly progress?: number } {
  if (progress === null || Number.isNaN(progress)) return {};
  return { progress: Math.round(Math.min(Math.max(progress, 0), 100)) };
}

/** Rounds a time to whole milliseconds; null when the time is out of range. */
function timeOf(ms: number | null): number | null {
  return ms === null || !(ms >= 0 && ms <= MAX_TIME_MS) ? null : Math.round(ms);
}

/** Reads ratio and resolution, each of which an upstream may state as a size in pixels. */
function frameOf({ ratio, resolution }: Metadata): Metadata {
  const [first, second] = [ratio ?? "", resolution ?? ""];
  return {
    ratio: ratioIn(first) ?? ratioIn(second),
    resolution: resolutionIn(second) ?? resolutionIn(first),
  };
}

function withoutUnknown(metadata: Metadata): JsonObject {
  return Object.fromEntries(
    Object.entries(metadata).flatMap(([key, value]) =>
      value === null || value === undefined || value === "" ? [] : [[key, value]],
    ),
  );
}

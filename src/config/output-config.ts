import { failure, type Result, success } from "../core/result.ts";
import { DAY_MS } from "../core/time.ts";
import type { ConfigIssue } from "./issue.ts";
import { DEFAULT_OUTPUT_DAYS, type ParsedVariables } from "./variables.ts";

/** The part of the configuration that is about outputs, i.e. the files that tasks have generated. */
export interface OutputConfig {
  /** True when the relay stores copies of outputs, because the bucket `OUTPUTS` is bound. */
  readonly areOutputsKept: boolean;
  /**
   * Origin of the relay's links to outputs: `OUTPUTS_URL` or, without it, `PUBLIC_URL`. Null when neither is set;
   * results then contain only links of the upstream.
   */
  readonly outputsOrigin: string | null;
  /** Time for which the relay's links to outputs work, in milliseconds. */
  readonly outputLifeMs: number;
  /** Largest size of an output of which the relay stores a copy, in bytes. */
  readonly maxOutputBytes: number;
}

/** Tells whether the relay has a bucket for the files in answers, and an address for the links to them. */
export function canKeepAnswers({
  areOutputsKept,
  outputsOrigin,
}: Pick<OutputConfig, "areOutputsKept" | "outputsOrigin">): boolean {
  return areOutputsKept && outputsOrigin !== null;
}

/**
 * Returns the configuration of outputs from its variables and bindings, or the faults if these contradict each other.
 */
export function parseOutputConfig(
  data: ParsedVariables,
): Result<OutputConfig, readonly ConfigIssue[]> {
  const { RETENTION_DAYS: retentionDays, OUTPUTS_URL, PUBLIC_URL } = data;
  const days = data.OUTPUT_DAYS ?? Math.min(DEFAULT_OUTPUT_DAYS, retentionDays);
  if (days > retentionDays) {
    // A task is erased with its outputs, so no link can outlive it.
    return failure([{ path: "OUTPUT_DAYS", message: "must be at most RETENTION_DAYS" }]);
  }
  return success({
    areOutputsKept: data.OUTPUTS !== undefined,
    outputsOrigin: OUTPUTS_URL ?? PUBLIC_URL,
    outputLifeMs: days * DAY_MS,
    maxOutputBytes: data.MAX_OUTPUT_MB * 1024 * 1024,
  });
}

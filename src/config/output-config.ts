import { failure, type Result, success } from "../core/result.ts";
import { DAY_MS } from "../core/time.ts";
import type { ConfigIssue } from "./issue.ts";
import { DEFAULT_OUTPUT_DAYS, type ParsedVariables } from "./variables.ts";

/** The part of the configuration that is about outputs, i.e. the files that tasks have generated. */
export interface OutputConfig {
  /** True when the relay stores copies of outputs: the bucket `OUTPUTS` is bound, or `OUTPUTS_S3_URL` is set. */
  readonly areOutputsKept: boolean;
  /** The store of outputs that is reached by the protocol of S3. Null when `OUTPUTS_S3_URL` is not set. */
  readonly s3: S3Config | null;
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

/** Settings of a store of outputs that is reached by the protocol of S3. */
export interface S3Config {
  /** Origin of the store, as `OUTPUTS_S3_URL` has it. */
  readonly url: string;
  readonly bucket: string;
  /** URL of the bucket, without a slash at the end. */
  readonly bucketUrl: string;
  readonly region: string;
  readonly keyId: string;
  readonly secret: string;
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
  const s3 = parseS3Config(data);
  if (!s3.ok) return s3;
  return success({
    areOutputsKept: data.OUTPUTS !== undefined || s3.value !== null,
    s3: s3.value,
    outputsOrigin: OUTPUTS_URL ?? PUBLIC_URL,
    outputLifeMs: days * DAY_MS,
    maxOutputBytes: data.MAX_OUTPUT_MB * 1024 * 1024,
  });
}

function parseS3Config(data: ParsedVariables): Result<S3Config | null, readonly ConfigIssue[]> {
  const { OUTPUTS_S3_URL: url, OUTPUTS_S3_REGION: region } = data;
  const { OUTPUTS_S3_BUCKET: bucket, OUTPUTS_S3_KEY: keyId, OUTPUTS_S3_SECRET: secret } = data;
  const others = Object.entries({
    OUTPUTS_S3_BUCKET: bucket,
    OUTPUTS_S3_KEY: keyId,
    OUTPUTS_S3_SECRET: secret,
  });
  if (url === null) {
    const [name] = others.find(([, value]) => value !== null) ?? [];
    if (name === undefined) return success(null);
    return failure([{ path: "OUTPUTS_S3_URL", message: `is required with ${name}` }]);
  }
  if (data.OUTPUTS !== undefined) {
    const message =
      "must not be set while the bucket OUTPUTS is bound: remove one of both, because the relay keeps outputs in one place";
    return failure([{ path: "OUTPUTS_S3_URL", message }]);
  }
  if (bucket === null || keyId === null || secret === null) {
    const missing = others.filter(([, value]) => value === null);
    return failure(missing.map(([path]) => ({ path, message: "is required with OUTPUTS_S3_URL" })));
  }
  // Some stores want the bucket in the name of the host, others in the path; the host says which.
  const isInHost = new URL(url).hostname.startsWith(`${bucket}.`);
  const bucketUrl = isInHost ? url : `${url}/${bucket}`;
  return success({ url, bucket, bucketUrl, region, keyId, secret });
}

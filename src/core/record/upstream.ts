import type { JsonObject } from "../json.ts";

/** Where a task is generated: through which connection, and as which job. */
export interface Upstream {
  /** Name of the connection, e.g. `ark`. */
  readonly connection: string;
  /** Null until the job is attached. */
  readonly job: Job | null;
}

/** The upstream's own name for its work, as its submit call returned it. */
export interface Job {
  readonly id: string;
  /** Needed by some providers beyond the id to be polled, e.g. fal's endpoint. */
  readonly endpoint: string | null;
}

export function sameJob(a: Job | null, b: Job): boolean {
  return a !== null && a.id === b.id && a.endpoint === b.endpoint;
}

/** How the upstream's work ended. */
export type UpstreamResult =
  | {
      readonly status: "completed";
      /** Unix milliseconds; null when the upstream does not say. */
      readonly completedAt: number | null;
      readonly urls: readonly string[];
      readonly metadata: JsonObject;
    }
  | {
      readonly status: "failed";
      readonly error: { readonly code: string; readonly message: string };
    };

/** News of a hook or a poll about a job. */
export type UpstreamNews =
  | { readonly status: "queued" | "processing" }
  /** Success without any output. */
  | { readonly status: "no_output" }
  | Extract<UpstreamResult, { readonly status: "completed" }>
  | UpstreamFailure;

/** News that can end a task. */
export type UpstreamEnd = Extract<
  UpstreamNews,
  { readonly status: "completed" | "failed" | "no_output" }
>;

export interface UpstreamFailure {
  readonly status: "failed";
  readonly error: { readonly code: string; readonly message: string };
  readonly failure: Failure;
}

/** The kind of a failure, shown in `GET`. */
export interface Failure {
  readonly category: FailureCategory;
  /** True when the same task may succeed if it is submitted again. */
  readonly retryable: boolean;
}

export type FailureCategory = (typeof FAILURE_CATEGORIES)[number];

export const FAILURE_CATEGORIES = [
  "moderation",
  "invalid_input",
  "rate_limited",
  "timeout",
  "canceled",
  "provider",
] as const;

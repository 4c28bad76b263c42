import type { Failure } from "./task.ts";
import type { UpstreamResult } from "./callback-body.ts";

/** Where a task is generated: through which connection, and as which job once that is known. */
export interface Upstream {
  /** Name of the connection, e.g. `ark`. */
  readonly connection: string;
  /** What the submit call returned; null until it is attached. */
  readonly job: Job | null;
}

/** The upstream's own name for its work. */
export interface Job {
  readonly id: string;
  /** What the provider needs beyond the id to be asked, e.g. fal's endpoint. */
  readonly endpoint: string | null;
}

export function sameJob(a: Job | null, b: Job): boolean {
  return a !== null && a.id === b.id && a.endpoint === b.endpoint;
}

/** What a hook or a poll says of a job. */
export type UpstreamNews =
  | { readonly status: "queued" | "processing" }
  /** It says success and gives no output. */
  | { readonly status: "no_output" }
  | Extract<UpstreamResult, { readonly status: "completed" }>
  | UpstreamFailure;

/** What can end a task. */
export type UpstreamEnd = Extract<
  UpstreamNews,
  { readonly status: "completed" | "failed" | "no_output" }
>;

export interface UpstreamFailure {
  readonly status: "failed";
  readonly error: { readonly code: string; readonly message: string };
  readonly failure: Failure;
}

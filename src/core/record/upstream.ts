import type { JsonObject } from "../json.ts";

/** The upstream of a task: the connection to a provider, and the job there. */
export interface Upstream {
  /** Name of the connection to the provider, e.g. `ark`. */
  readonly connection: string;
  /** Job that generates the result. Null until a job is attached. */
  readonly job: Job | null;
}

/** The upstream of a task whose job is known. */
export type AttachedJob = Upstream & { readonly job: Job };

/** A job, as the upstream identified it when the job was submitted. */
export interface Job {
  readonly id: string;
  /**
   * Endpoint of the job, which some providers (e.g. fal) need for a poll in addition to the id. Null for other
   * providers.
   */
  readonly endpoint: string | null;
}

export function sameJob(a: Job | null, b: Job): boolean {
  return a !== null && a.id === b.id && a.endpoint === b.endpoint;
}

/**
 * Tells whether a hook or an answer to a poll is about `job`. `jobId` is the id of the job that it names. If it names
 * none (null), it counts as being about `job`, because the URL of the hook or poll belongs to this task alone. The
 * padding of base64 (`=`) at the end of an id is not compared, because some upstreams do not always write it.
 */
export function isAbout(job: Job, jobId: string | null): boolean {
  return jobId === null || withoutPadding(jobId) === withoutPadding(job.id);
}

function withoutPadding(id: string): string {
  return id.replace(/={1,2}$/, "");
}

/** Largest number of output URLs of a result. */
export const MAX_OUTPUT_URLS = 1_000;
/** Largest length of an output URL, in characters. */
export const MAX_OUTPUT_URL_CHARS = 8_192;

/**
 * Value of `error.code` for a task whose output is inside the upstream's answer, in a relay that does not store outputs.
 */
export const NEEDS_STORE_CODE = "output_needs_store";

/** Largest number of files in an answer that become outputs of a task. */
export const MAX_STORED_FILES = 32;

/** A file that was in the answer to a call. The object of the call has stored it in the bucket. */
export interface StoredFile {
  readonly bytes: number;
  /** Media type of the file (core/output-metadata/media-type.ts). */
  readonly mediaType: string;
}

/**
 * Place in the bucket of the upstream's answer to a call. With number 0 it is the answer with placeholders where files
 * were; with number 1 the answer is itself the only output of the task.
 */
export interface StoredAnswer {
  readonly number: 0 | 1;
  /** Header `Content-Type` of the answer; null when it had none. */
  readonly contentType: string | null;
  readonly bytes: number;
}

/** Tells whether the output URLs of a result are neither too many nor too long. */
export function areUrlsInBounds(urls: readonly string[]): boolean {
  return (
    urls.length <= MAX_OUTPUT_URLS && urls.every(({ length }) => length <= MAX_OUTPUT_URL_CHARS)
  );
}

/** The final result of a job: completed or failed. */
export type UpstreamResult =
  | {
      readonly status: "completed";
      /** Time at which the job ended, in Unix milliseconds. Null when the upstream does not report this time. */
      readonly completedAt: number | null;
      readonly urls: readonly string[];
      readonly metadata: JsonObject;
      /**
       * Files that were in the answer, in the order of their numbers, which begin at 1; outputs with links follow. At
       * most `MAX_STORED_FILES`. Absent when there are none.
       */
      readonly files?: readonly StoredFile[];
      /** Place of the answer in the bucket. Absent when it is not stored there. */
      readonly storedAnswer?: StoredAnswer;
    }
  | {
      readonly status: "failed";
      readonly error: { readonly code: string; readonly message: string };
    };

/**
 * Consumption or cost of a job as the upstream reports it, e.g. tokens or seconds: numbers under the names that the
 * upstream uses, at most 1 KB as JSON.
 */
export type Usage = Readonly<Record<string, number>>;

/** News of a job: the state that a hook or the answer to a poll reports, with the result when the job has ended. */
export type UpstreamNews =
  | { readonly status: "queued" | "processing" }
  /** Report that a job has succeeded, but without any output. */
  | ({ readonly status: "no_output" } & Used)
  | (Extract<UpstreamResult, { readonly status: "completed" }> & Used)
  | (UpstreamFailure & Used);

/** Usage that a report about the end of a job contains in addition to the result. */
export interface Used {
  /** Consumption or cost of the job. Absent when the upstream reports none. */
  readonly usage?: Usage;
}

/**
 * Mark of a result or of links that may come from somebody other than the upstream. Such links are never fetched with a
 * key.
 */
export interface Provable {
  /**
   * True when nothing proves that the result is the upstream's own: it came in an event of `POST /v1/events` or in an
   * unsigned hook, and neither in an answer of the upstream nor in a hook with a valid signature. Links of such a
   * result are never fetched with a key. Absent when the result is the upstream's own.
   */
  readonly isUnproven?: true;
}

/** Returns a result marked as one that may come from somebody other than the upstream. */
export function asUnproven<T extends object>(result: T): T & Provable {
  return { ...result, isUnproven: true };
}

/**
 * Returns an object that has only the mark `isUnproven` of a result; an empty object when the result is the upstream's
 * own.
 */
export function proofOf({ isUnproven }: Provable): Provable {
  return isUnproven === true ? { isUnproven } : {};
}

/** Report, by a hook or by the answer to a poll, that the job has ended. Such a report can end the task. */
export type UpstreamEnd = Extract<
  UpstreamNews,
  { readonly status: "completed" | "failed" | "no_output" }
>;

export interface UpstreamFailure {
  readonly status: "failed";
  readonly error: { readonly code: string; readonly message: string };
  readonly failure: Failure;
}

/**
 * Member `failure` of a failed task in the answer of `GET /v1/tasks/{id}`: the category of the failure, and whether a
 * new submission of the same task may succeed.
 */
export interface Failure {
  readonly category: FailureCategory;
  /** True when the same task may succeed if it is submitted again. */
  readonly retryable: boolean;
  /**
   * Ids of the upstream's requests that its error text contained. Only the operator sees them, as `request_ids`. Absent
   * when the text contained none.
   */
  readonly requestIds?: readonly string[];
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

/** Times of a task's job, recorded before the end of the task, in Unix milliseconds. */
export interface UpstreamTimes {
  /** Time at which the job was attached. */
  readonly attachedAt: number;
  /** Time of the latest hook that claimed the end of the job and caused polls. Null when no such hook came. */
  readonly hookAt: number | null;
  /**
   * Time of the latest poll. Null when there was none. Null also when the task's Durable Object was restarted after the
   * poll, because this time is only in memory.
   */
  readonly askedAt: number | null;
}

import type { JsonObject } from "../core/json.ts";
import type { Job } from "../core/record/upstream.ts";
import type { Answer } from "./provider-answer.ts";

/**
 * Description of the call that cancels a job at a provider, and reader of the answers to this call. The call is
 * authenticated by the same headers as a poll.
 */
export interface CancelAdapter {
  /** Returns the call that cancels a job. Null when the provider documents no such call for jobs of this kind. */
  readonly request: (job: Job) => CancelRequest | null;
  /**
   * Returns what an answer to the call that cancels a job says. It is called for answers with every HTTP status except
   * 401, 403, 429 and those from 500 on, which mean the same for every provider.
   */
  readonly read: (answer: Answer) => CancelReading;
  /**
   * States of a job in which the call that cancels it may be made, if the call does harm in other states, e.g. deletes
   * the result of a job that has ended. The state is asked right before the call. Absent when the call never does harm.
   */
  readonly onlyWhile?: readonly CancelableState[];
  /**
   * True when the provider answers 404 about a job that it has canceled. If the answer to a first call was lost and the
   * repeated call gets 404, this shows that the first call has canceled the job.
   */
  readonly forgetsCanceled?: true;
}

export type CancelableState = "queued" | "processing";

export interface CancelRequest {
  readonly method: "POST" | "PUT" | "DELETE";
  /** Path and query of the call that cancels a job, relative to the base URL. */
  readonly path: string;
  /** JSON body of the call that cancels a job. Absent for a call without a body. */
  readonly body?: JsonObject;
}

/**
 * The meaning of an answer to the call that cancels a job:
 * - `canceled`: the job is canceled.
 * - `accepted`: the provider has taken the order, but the job may still end otherwise.
 * - `ended`: the job had ended before.
 * - `refused`: the provider does not cancel the job.
 * - `unknown`: the adapter does not understand the answer.
 */
export type CancelReading = "canceled" | "accepted" | "ended" | "refused" | "unknown";

import type { Job } from "../../../core/record/upstream.ts";
import type { CancelReading, CancelRequest } from "../../cancel.ts";

/**
 * The documented call that cancels a job of a provider, and examples of documented answers to it with their expected
 * meanings.
 */
export interface CancelExamples {
  readonly job: Job;
  readonly request: CancelRequest;
  /** States of a job in which it may be canceled; in others the call does harm. Null when the call never does harm. */
  readonly onlyWhile: readonly string[] | null;
  /** True when the provider answers 404 about a job that it has canceled. */
  readonly forgetsCanceled: boolean;
  readonly answers: readonly (readonly [name: string, number, unknown, CancelReading])[];
}

/** The value that an adapter gets as the body of an answer that has no body, or whose body is not JSON. */
export const NO_BODY = undefined;

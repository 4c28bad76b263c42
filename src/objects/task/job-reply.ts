import type { CreatedTask } from "../../core/record/task.ts";
import type { ReadJob } from "./job-reader.ts";

/** A client's call that reads a job at its provider. */
export interface JobQuestion {
  readonly connection: string;
  readonly jobId: string;
  /** Beginning of the endpoint of the job that the path of the call names; null when it names none. */
  readonly endpoint: string | null;
  /** Path and query of the call, relative to the base URL of the connection. */
  readonly target: string;
  /** The caller's own key of the provider; null when it has sent none. */
  readonly ownKey: string | null;
}

/** Answer of a task's object to a call that reads its job. */
export type JobReply =
  /** Reply to a caller that may not read the job, and when the relay has no key for the call to the provider. */
  | { readonly kind: "unknown_job" }
  | { readonly kind: "unanswered" }
  | { readonly kind: "limited"; readonly waitMs: number }
  | {
      readonly kind: "answer";
      readonly status: number;
      readonly headers: Headers;
      readonly bytes: Uint8Array<ArrayBuffer>;
      /**
       * Id of the task's submission, from which the token of its hook URL is made. Null when the task has no
       * submission.
       */
      readonly submissionId: string | null;
      readonly hasCustomerKey: boolean;
    };

export const NO_JOB: JobReply = { kind: "unknown_job" };

/** Returns the reply to a client for the result of reading the job of a task at its provider. */
export function jobReplyOf(read: ReadJob, { submission }: CreatedTask): JobReply {
  switch (read.kind) {
    case "no_key":
      return NO_JOB;
    case "answer": {
      const { status, headers, bytes } = read.answer;
      if (bytes === null) return { kind: "unanswered" };
      const hasCustomerKey = submission?.customerKey != null;
      const submissionId = submission?.id ?? null;
      return { kind: "answer", status, headers, bytes, submissionId, hasCustomerKey };
    }
    case "unanswered":
    case "limited":
      return read;
  }
}

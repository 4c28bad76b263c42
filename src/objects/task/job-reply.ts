import { sourcesOf } from "../../core/record/callback-body.ts";
import { hasCustomerKey, type SealedKey, sealedKeyOf } from "../../core/record/customer-key.ts";
import { type CreatedTask, isTerminal } from "../../core/record/task.ts";
import type { Upstream } from "../../core/record/upstream.ts";
import { type OutputPlace, outputPlaceOf } from "../../core/views/output-place.ts";
import type { ReadJob } from "./job-reader.ts";

/** A client's call about a job at its provider. */
export interface JobQuestion {
  readonly connection: string;
  readonly jobId: string;
  /** Beginning of the endpoint of the job, as the path of the call names it; null when the path names none. */
  readonly endpoint: string | null;
  /** Path and query of the call, relative to the base URL of the connection. */
  readonly target: string;
  /** The caller's own key of the provider; null when it has sent none. */
  readonly ownKey: string | null;
}

/** Answer of a task's object to a call that reads its job. */
export type JobReply =
  /** Reply when the caller may not read the job, and when the relay has no key for the call to the provider. */
  | { readonly kind: "unknown_job" }
  | { readonly kind: "unanswered" }
  | { readonly kind: "limited"; readonly waitMs: number }
  /** Reply to an account whose task has failed and was refunded, although the job may have an output. */
  | { readonly kind: "withheld" }
  | {
      readonly kind: "answer";
      readonly status: number;
      readonly headers: Headers;
      readonly bytes: Uint8Array<ArrayBuffer>;
      /**
       * Id of the task's submission, from which the token in its hook URL is derived. Null when the task has no
       * submission.
       */
      readonly submissionId: string | null;
      readonly hasCustomerKey: boolean;
    };

export const NO_JOB = { kind: "unknown_job" } as const satisfies JobReply;

/** Answer of a task's object to a call that fetches an output of its job. */
export type JobOutput =
  /** Answer to a caller that may not read the job. */
  | { readonly kind: "unknown_job" }
  /** Answer when the task has no such output, or none yet. */
  | { readonly kind: "none" }
  | {
      readonly kind: "output";
      /** Name of the connection with which the job ran: for a job in a pool, of a member. */
      readonly connection: string;
      /** The provider's own link to the output. */
      readonly source: string;
      /**
       * Time at which the task's record was created, in Unix milliseconds. It distinguishes the task from others with
       * the same id.
       */
      readonly recordedAt: number;
      /** Target and expiry of the relay's own link to the output. Null when there is no such link. */
      readonly linked: { readonly place: OutputPlace; readonly expiresAt: number } | null;
      /**
       * Key of the customer with which the job was submitted: `ownKey` when the caller has sent it, otherwise the
       * stored `key`. Null when the job was submitted with the key of the connection.
       */
      readonly customer: { readonly ownKey: string | null; readonly key: SealedKey | null } | null;
    };

/**
 * Returns where an output of the job of a task can be fetched.
 * @param upstream the job and the connection with which it ran.
 * @param ownKey the caller's own key of the provider, if the task's stored key is gone; null otherwise.
 * @param number number of the output, counted from 1.
 */
export function jobOutputOf(
  record: CreatedTask,
  { connection }: Upstream,
  ownKey: string | null,
  number: number,
): JobOutput {
  const source = isTerminal(record) ? sourcesOf(record)[number - 1] : undefined;
  if (source === undefined) return { kind: "none" };
  const { recordedAt } = record;
  const place = outputPlaceOf(record, recordedAt, number);
  const expiresAt = isTerminal(record) ? (record.outputs?.expiresAt ?? 0) : 0;
  const linked = place === null ? null : { place, expiresAt };
  const customer = hasCustomerKey(record) ? { ownKey, key: sealedKeyOf(record) } : null;
  return { kind: "output", connection, source, recordedAt, linked, customer };
}

/** Returns the reply to a client for the result of reading the job of a task at its provider. */
export function jobReplyOf(read: ReadJob, { submission }: CreatedTask): JobReply {
  switch (read.kind) {
    case "no_key":
      return NO_JOB;
    case "answer": {
      const { status, headers, bytes } = read.answer;
      if (bytes === null) return { kind: "unanswered" };
      const isOfCustomer = hasCustomerKey({ submission });
      const submissionId = submission?.id ?? null;
      return { kind: "answer", status, headers, bytes, submissionId, hasCustomerKey: isOfCustomer };
    }
    case "unanswered":
    case "limited":
      return read;
  }
}

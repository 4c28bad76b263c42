import * as z from "zod";
import type { Post } from "../../harness/receiver.ts";
import type { BucketContent } from "../../harness/bucket.ts";
import type { StoredCall } from "../../harness/stored-calls.ts";
import type { ArkRead, Submit } from "../../submit/fake-ark.ts";
import type { Ledger } from "../ledger.ts";
import type { Witnessed } from "../witnessed.ts";
import type { Order } from "./orders.ts";
import type { FinalAnswer } from "./submitting.ts";
import type { JobRead } from "./waiting.ts";

/** Origin of the links to outputs in the test, which no name server knows. */
export const OUTPUTS_URL = "https://outputs.example.com";

/** Returns the link to the output of a job. The relay keeps no copy of it, because its host is an IP address. */
export function linkOf(jobId: string): string {
  return `https://192.0.2.1/${jobId}.mp4`;
}

/** The members of a task that the checks read. */
export type SubmittedTask = z.infer<typeof SubmittedTask>;
export const SubmittedTask = z.object({
  id: z.string(),
  status: z.string(),
  output: z.object({ urls: z.array(z.string()) }).optional(),
  error: z.object({ code: z.string() }).optional(),
  callback: z.object({
    status: z.string(),
    attempts: z.array(z.object({ outcome: z.string().optional() })),
  }),
});

/** Everything recorded about an order: by its caller, the upstream, the relay and the receiver. */
export interface Evidence {
  readonly order: Order;
  /** Null when the caller never got a final answer. */
  readonly answer: FinalAnswer | null;
  /** Submissions that the upstream has received, in their order. */
  readonly submits: readonly Submit[];
  /** Reads of the job by its client, in their order; none when the client does not wait, or has got no job. */
  readonly reads: readonly JobRead[];
  /** Reads of the job that the upstream has received, in their order. */
  readonly upstreamReads: readonly ArkRead[];
  /** The task; null when there is none. */
  readonly task: SubmittedTask | null;
  readonly posts: readonly Post[];
  /** SHA-256 in hex of what the link to the image has given. Null where there is no such link. */
  readonly image: string | null;
}

/** Everything that a run has recorded, from which its faults are found. */
export interface Recording extends Witnessed {
  readonly evidence: readonly Evidence[];
  readonly ledger: Ledger;
  /** Credits that the account was granted, and that each submission costs. */
  readonly grant: number;
  readonly price: number;
  /** Hooks that the relay has not accepted. */
  readonly refusedHooks: readonly string[];
  readonly bucket: BucketContent;
  /** What objects of calls store in the end. */
  readonly storedCalls: readonly StoredCall[];
}

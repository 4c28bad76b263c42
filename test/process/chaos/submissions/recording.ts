import * as z from "zod";
import type { Post } from "../../harness/receiver.ts";
import type { ArkRead, Submit } from "../../submit/fake-ark.ts";
import type { Ledger } from "../ledger.ts";
import type { Witnessed } from "../witnessed.ts";
import type { Order } from "./orders.ts";
import type { FinalAnswer } from "./submitting.ts";
import type { JobRead } from "./waiting.ts";

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
}

import type { Cancel } from "../../../src/core/duties/cancel-job.ts";
import type { Charge } from "../../../src/core/duties/charge.ts";
import type { Poll } from "../../../src/core/duties/poll.ts";
import type { Refund } from "../../../src/core/duties/refund.ts";
import type {
  CancelAnswer,
  ChargeAnswer,
  PollAnswer,
  SubmitOutcome,
} from "../../../src/core/events/event.ts";
import type { Policy } from "../../../src/core/policy.ts";
import type { Party } from "./machine.ts";

/** A call that starts a job, as it reaches an upstream. */
export interface SentCall {
  readonly taskId: string;
  readonly submissionId: string;
  /** Name of the connection whose key is sent. */
  readonly connection: string;
  readonly attempt: number;
}

/** What objects reach outside the relay: the ledger, the upstreams, and the settings of their deployment. */
export interface Outside {
  readonly policy: Policy;
  /** Sends a call to an upstream. The outcome is unknown when no answer comes. */
  submit(from: Party, call: SentCall, signal: AbortSignal): Promise<SubmitOutcome>;
  charge(from: Party, charge: Charge): Promise<ChargeAnswer>;
  refund(from: Party, refund: Refund): Promise<boolean>;
  poll(from: Party, poll: Poll): Promise<PollAnswer>;
  cancel(from: Party, cancel: Cancel): Promise<CancelAnswer>;
}

/** What the environment of a simulated process has besides the relay's own bindings. */
export interface Simulated {
  readonly party: Party;
  readonly outside: Outside;
}

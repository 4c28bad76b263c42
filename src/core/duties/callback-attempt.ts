import type { Policy } from "../policy.ts";
import { dueAt } from "../record/callback.ts";
import type { EndpointCopy } from "../record/endpoint-copy.ts";
import { type Account, isTerminal, type TaskRecord, type TerminalTask } from "../record/task.ts";
import { endpointOf } from "../record/callback-terms.ts";
import { type Trace, traceMember } from "../record/trace.ts";
import type { Duty, EventStep } from "./duty.ts";

/** Everything needed to send one attempt of a callback. */
export interface Delivery {
  readonly taskId: string;
  /** Account whose secrets sign the callback; null when the relay's own secrets sign it. */
  readonly account: Account | null;
  readonly status: TerminalTask["status"];
  /** Body of the callback, written once at the end of the task (events/finish.ts, record/callback-body.ts). */
  readonly body: string;
  readonly url: string;
  /** Endpoint at the URL, whose headers are sent and whose secret signs. Absent when the receiver is a URL alone. */
  readonly endpoint?: EndpointCopy;
  /** Origin of the relay as the creator of the task addressed it, e.g. `https://relay.example.com`. */
  readonly origin: string;
  /** Number of the attempt, from 1. Automatic attempts and those of redeliveries are counted together. */
  readonly number: number;
  /** Time at which the attempt started, in Unix milliseconds. */
  readonly startedAt: number;
  /** Name of the connection to the provider, for measurements; null for a task without a provider. */
  readonly provider: string | null;
  /** Trace context of the request that has created the task. Absent when it stated none. */
  readonly trace?: Trace;
}

export interface SendStep {
  readonly kind: "send";
  readonly delivery: Delivery;
}

/**
 * Returns the next step to deliver the callback of a task. Each attempt takes two steps: the first stores that the
 * attempt has started, and the second sends it. The wait before an attempt is planned in
 * plans/callback-attempt-plan.ts. Null when no attempt is planned or running.
 */
export function deliver(record: TaskRecord, policy: Policy): Duty<EventStep | SendStep> | null {
  if (!isTerminal(record) || record.callback === null) return null;
  const { state, url, terms } = record.callback;
  switch (state.kind) {
    case "due": {
      const event = { type: "attempt_started" } as const;
      return { dueAt: dueAt(state, policy), step: () => ({ kind: "event", event }) };
    }
    case "in_flight": {
      const { id: taskId, account, status, body, origin, trace } = record;
      const { number, startedAt } = state;
      const provider = record.upstream?.connection ?? null;
      const message = { taskId, account, status, body, origin, ...traceMember(trace) };
      const delivery = { ...message, url, ...endpointOf(terms), number, startedAt, provider };
      return { dueAt: startedAt, step: () => ({ kind: "send", delivery }) };
    }
    case "held":
    case "delivered":
    case "failed":
      return null;
  }
}

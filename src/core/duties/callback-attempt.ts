import type { Policy } from "../policy.ts";
import { type AttemptResult, dueAt, unansweredAttempt } from "../record/callback.ts";
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

/**
 * Returns the next step to deliver the callback of a task. It stores that an attempt has started: the instance of the
 * task's object that has stored this sends the attempt (`startedDelivery`). While an attempt is running, the step is the
 * finding that it was interrupted, because its sender has not reported its end in time. The wait before an attempt is
 * planned in plans/callback-attempt-plan.ts. Null when no attempt is planned or running.
 */
export function deliver(record: TaskRecord, policy: Policy): Duty<EventStep> | null {
  if (!isTerminal(record) || record.callback === null) return null;
  const { state } = record.callback;
  switch (state.kind) {
    case "due": {
      const event = { type: "attempt_started" } as const;
      return { dueAt: dueAt(state, policy), step: () => ({ kind: "event", event }) };
    }
    case "in_flight": {
      const { number, startedAt } = state;
      const interrupted = unansweredAttempt("interrupted");
      const event = { type: "attempt_ended", number, ...interrupted } as const;
      return { dueAt: startedAt + policy.watchdogMs, step: () => ({ kind: "event", event }) };
    }
    case "held":
    case "delivered":
    case "failed":
      return null;
  }
}

/**
 * Returns the number of the attempt that was started and whose result is not stored yet; null when there is
 * none.
 */
export function attemptInFlight(record: TaskRecord | null): number | null {
  if (record === null || !isTerminal(record) || record.callback === null) return null;
  const { state } = record.callback;
  return state.kind === "in_flight" ? state.number : null;
}

/** Tells whether this attempt is stored as started, and not as ended. */
export function isRunning(
  record: TaskRecord | null,
  { number, startedAt }: Pick<Delivery, "number" | "startedAt">,
): boolean {
  const state = record !== null && isTerminal(record) ? record.callback?.state : undefined;
  return state?.kind === "in_flight" && state.number === number && state.startedAt === startedAt;
}

/** Tells whether this end of an attempt is stored, so that another report of it is a repetition. */
export function isEndStored(
  record: TaskRecord | null,
  { number, startedAt }: Pick<Delivery, "number" | "startedAt">,
  { outcome }: Pick<AttemptResult, "outcome">,
): boolean {
  const attempts = record !== null && isTerminal(record) ? record.callback?.attempts : undefined;
  const known = attempts?.find((attempt) => attempt.number === number);
  return known?.startedAt === startedAt && known.outcome === outcome;
}

/** Returns the attempt of the callback that has started by this change, to be sent. Null for any other change. */
export function startedDelivery(before: TaskRecord | null, after: TaskRecord): Delivery | null {
  if (!isTerminal(after) || after.callback?.state.kind !== "in_flight") return null;
  const { number, startedAt } = after.callback.state;
  if (attemptInFlight(before) === number) return null;
  const { url, terms } = after.callback;
  const { id: taskId, account, status, body, origin, trace } = after;
  const provider = after.upstream?.connection ?? null;
  const message = { taskId, account, status, body, origin, ...traceMember(trace) };
  return { ...message, url, ...endpointOf(terms), number, startedAt, provider };
}

/**
 * Returns the time from which no call may be under way that could delay the callback, in Unix milliseconds: that of the
 * next attempt. While an attempt is running, it is the start of this one, because the next one may be due as soon as it
 * ends. `Infinity` when there is none.
 */
export function nextAttemptAt(record: TaskRecord, policy: Policy): number {
  const state = isTerminal(record) ? record.callback?.state : undefined;
  if (state?.kind === "in_flight") return state.startedAt;
  return state?.kind === "due" ? dueAt(state, policy) : Infinity;
}

import type { Cancellation, CancelState } from "../../src/core/record/cancellation.ts";
import type { OpenTask } from "../../src/core/record/task.ts";
import { SECOND } from "../core/builders.ts";

/** Seconds after the answer to a cancellation at which the job is polled, and after a refusal. */
const POLL_SECONDS = [0, 1, 3, 10, 30, 60, 120];
const POLL_SECONDS_AFTER_REFUSAL = [0];

/** State of a cancellation while the upstream is asked. */
export type Asking = Extract<CancelState, { readonly kind: "asking" }>;
/** State of a cancellation after an answer that is no confirmation. */
export type Answered = Extract<CancelState, { readonly answeredAt: number }>;

/** Returns the times at which the answer to a cancellation causes polls, in Unix milliseconds. */
export function cancelPollTimes({ cancellation }: OpenTask): readonly number[] {
  const state = answeredState(cancellation);
  if (state === null) return [];
  const seconds = state.kind === "refused" ? POLL_SECONDS_AFTER_REFUSAL : POLL_SECONDS;
  return seconds.map((each) => state.answeredAt + each * SECOND);
}

/** Returns the time at which the upstream was last heard about a cancellation; -Infinity for never. */
export function cancelAnsweredAt({ cancellation }: OpenTask): number {
  return answeredState(cancellation)?.answeredAt ?? -Infinity;
}

/** Returns the time of the next call that cancels the job of a task, in Unix milliseconds; Infinity for none. */
export function cancelDueTime({ cancellation, upstream }: OpenTask): number {
  const asking = askingState(cancellation);
  if (asking === null || upstream?.job == null) return Infinity;
  return asking.retryAt < (cancellation?.endsAt ?? Infinity) ? asking.retryAt : Infinity;
}

export function askingState(cancellation: Cancellation | null): Asking | null {
  return cancellation?.state.kind === "asking" ? cancellation.state : null;
}

export function answeredState(cancellation: Cancellation | null): Answered | null {
  return cancellation !== null && "answeredAt" in cancellation.state ? cancellation.state : null;
}

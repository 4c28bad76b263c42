import type { CancelAnswer, CancelEndedEvent } from "../../src/core/events/event.ts";
import type { Policy } from "../../src/core/policy.ts";
import type {
  AnsweredCancel,
  Cancellation,
  CancelState,
} from "../../src/core/record/cancellation.ts";
import type { OpenTask } from "../../src/core/record/task.ts";
import { aPolicy, NOW } from "./builders.ts";
import { anAttachedTask, JOB } from "./upstream-builders.ts";

/** Settings in which the relay can cancel jobs. */
export const CANCELABLE = cancelable();

/** Returns settings in which the relay can cancel jobs. */
export function cancelable(changes: Partial<Policy> = {}): Policy {
  return aPolicy({ isCancelable: () => true, ...changes });
}

/** Builds an order that was given at NOW, and whose upstream is asked at once. */
export function aCancellation(changes: Partial<Cancellation> = {}): Cancellation {
  const state = { kind: "asking", retryAt: NOW, tries: 0 } as const;
  return { reason: "order", requestedAt: NOW, endsAt: null, state, ...changes };
}

/** Builds the state of a cancellation that the upstream answered at NOW without a confirmation. */
export function answeredAs(
  kind: AnsweredCancel["kind"],
  statusCode: number | null = 200,
): AnsweredCancel {
  return { kind, answeredAt: NOW, statusCode };
}

/** Builds a state of a cancellation that was ordered at NOW. An answer of the upstream has the status 202. */
export function cancelStateNamed(kind: CancelState["kind"]): CancelState {
  switch (kind) {
    case "asking":
      return { kind, retryAt: NOW, tries: 0 };
    case "confirmed":
    case "not_sent":
      return { kind };
    case "accepted":
    case "ended":
    case "refused":
    case "unknown":
      return answeredAs(kind, 202);
  }
}

/** Builds a task whose job was attached at NOW, and is to be canceled. */
export function aCancelingTask(
  cancellation: Partial<Cancellation> = {},
  changes: Partial<OpenTask> = {},
): OpenTask {
  return anAttachedTask({}, { cancellation: aCancellation(cancellation), ...changes });
}

export function aCancelEnd(
  kind: CancelAnswer["kind"],
  statusCode: number | null = 200,
  job = JOB,
): CancelEndedEvent {
  return { type: "cancel_ended", job, answer: { kind, statusCode } };
}

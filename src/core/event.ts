import type { Outcome } from "./outcome.ts";
import type { Registration } from "./task.ts";
import type { Result } from "./result.ts";

/** Everything that can happen to a task; `transition` decides what it means. */
export type TaskEvent =
  | RegisterEvent
  | ReportEvent
  | { readonly type: "deadline" }
  | { readonly type: "attempt_started" }
  | AttemptEndedEvent
  | RedeliverEvent
  | { readonly type: "erase" };

/** `POST /v1/tasks`. */
export interface RegisterEvent {
  readonly type: "register";
  readonly id: string;
  readonly model: string;
  readonly account: string | null;
  readonly origin: string;
  readonly registration: Registration;
}

/** News of the upstream: `POST /v1/events`. */
export interface ReportEvent {
  readonly type: "report";
  readonly id: string;
  readonly news: { readonly status: "processing" } | Result;
  /** Counts only when this event creates the task; null where the event cannot create one. */
  readonly creation: Creation | null;
}

export interface Creation {
  readonly model: string;
  readonly account: string | null;
  readonly createdAt: number | null;
  readonly callbackUrl: string | null;
  /** Why the URL policy refuses `callbackUrl`; null when it does not. */
  readonly callbackUrlRefusal: string | null;
  readonly origin: string;
}

export interface AttemptEndedEvent extends AttemptResult {
  readonly type: "attempt_ended";
  readonly number: number;
}

export interface AttemptResult {
  readonly outcome: Outcome;
  readonly statusCode: number | null;
  readonly responseExcerpt: string | null;
}

/** `POST /v1/tasks/{id}/redeliver`. */
export interface RedeliverEvent {
  readonly type: "redeliver";
  /** Attempts of the new series, 1 to 3. */
  readonly attempts: number;
  /** Replaces the task's URL from now on. */
  readonly callbackUrl: string | null;
  readonly idempotencyKey: string | null;
}

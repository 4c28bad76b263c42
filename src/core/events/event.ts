import type { NoticeKind } from "../record/notice.ts";
import type { Outcome } from "../record/outcome.ts";
import type { Account, Registration } from "../record/task.ts";
import type { UpstreamResult } from "../record/callback-body.ts";
import type { Job, UpstreamNews } from "../record/upstream.ts";

/** Everything that can happen to a task; `transition` decides what it means. */
export type TaskEvent =
  | RegisterEvent
  | ReportEvent
  | AttachEvent
  | HookEvent
  | PollEndedEvent
  | { readonly type: "deadline" }
  | { readonly type: "attempt_started" }
  | AttemptEndedEvent
  | RedeliverEvent
  | ChargeEndedEvent
  | RefundEndedEvent
  | PublishEndedEvent
  | NoticeEndedEvent
  | { readonly type: "republish" }
  | { readonly type: "cancel" }
  | { readonly type: "erase" };

/** `POST /v1/tasks`. */
export interface RegisterEvent {
  readonly type: "register";
  readonly id: string;
  readonly model: string;
  readonly origin: string;
  readonly registration: Registration;
  /** Null: attached later, or never. */
  readonly job: Job | null;
  /** Instead of the configured time until the deadline; null: the configured one. */
  readonly deadlineMs: number | null;
  /** Null also where the charge will tell it. */
  readonly account: Account | null;
  /** Reference for the charge; null: nothing is charged here. */
  readonly chargeId: string | null;
}

/** The ledger's answer to a charge; `unknown` when there was none in time. */
export interface ChargeEndedEvent {
  readonly type: "charge_ended";
  readonly chargeId: string;
  readonly answer: ChargeAnswer;
}

export type ChargeAnswer =
  | { readonly kind: "charged"; readonly generation: number }
  | { readonly kind: "insufficient"; readonly balance: number; readonly price: number }
  | { readonly kind: "unknown_account" }
  | { readonly kind: "unknown" };

/** Whether the credits are back; false: there was no such answer in time. */
export interface RefundEndedEvent {
  readonly type: "refund_ended";
  readonly isRefunded: boolean;
}

/** The row of this version is in the index; or there was no such answer in time. */
export interface PublishEndedEvent {
  readonly type: "publish_ended";
  readonly version: number;
  readonly isPublished: boolean;
}

/** The operator has been told; or there was no such answer in time. */
export interface NoticeEndedEvent {
  readonly type: "notice_ended";
  readonly kind: NoticeKind;
  readonly version: number;
  readonly isTaken: boolean;
}

/** News of the upstream: `POST /v1/events`. */
export interface ReportEvent {
  readonly type: "report";
  readonly id: string;
  readonly news: { readonly status: "processing" } | UpstreamResult;
  /** Counts only when this event creates the task; null where the event cannot create one. */
  readonly creation: Creation | null;
}

/** `POST /v1/tasks/{id}/upstream`. */
export interface AttachEvent {
  readonly type: "attach";
  readonly connection: string;
  readonly job: Job;
}

/** `POST /hooks/{provider}/{id}/{token}`. */
export interface HookEvent {
  readonly type: "hook";
  readonly connection: string;
  /** The job that the hook names; null: none. */
  readonly jobId: string | null;
  readonly news: UpstreamNews;
  /** Whether the provider has signed what the hook says. */
  readonly isSigned: boolean;
}

/** The upstream was asked. */
export interface PollEndedEvent {
  readonly type: "poll_ended";
  readonly job: Job;
  /** When this poll was due; another time in the record means that something nudged meanwhile. */
  readonly plannedAt: number;
  /** When the question left: an answer to one from before the deadline is not the last word. */
  readonly askedAt: number;
  readonly answer: PollAnswer;
}

export type PollAnswer =
  | { readonly kind: "news"; readonly news: UpstreamNews }
  /** The provider wants to be left alone for so long. */
  | { readonly kind: "limited"; readonly retryAfterMs: number | null }
  /** The key is refused. */
  | { readonly kind: "unauthorized" }
  /** Nothing came in time, or nothing that could be understood. */
  | { readonly kind: "unanswered" };

export interface Creation {
  readonly model: string;
  readonly account: Account | null;
  /** Whether an account was named that does not exist. */
  readonly isAccountUnknown: boolean;
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
  /** As the receiver sent it: for the log, not obeyed. */
  readonly retryAfter?: string;
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

import type { AttemptResult, RedeliveryOrder } from "../record/callback.ts";
import type { NoticeKind } from "../record/notice.ts";
import type { Account, Registration } from "../record/task.ts";
import type { Job, UpstreamNews, UpstreamResult } from "../record/upstream.ts";

/** Everything that can happen to a task; `transition` decides what it does. */
export type TaskEvent =
  | RegisterEvent
  | ReportEvent
  | AttachEvent
  | HookEvent
  | RedeliverEvent
  | { readonly type: "republish" }
  | { readonly type: "cancel" }
  | { readonly type: "erase" }
  | { readonly type: "deadline" }
  | { readonly type: "attempt_started" }
  | AttemptEndedEvent
  | ChargeEndedEvent
  | PollEndedEvent
  | RefundEndedEvent
  | PublishEndedEvent
  | NoticeEndedEvent;

/** `POST /v1/tasks`. */
export interface RegisterEvent {
  readonly type: "register";
  readonly id: string;
  readonly model: string;
  readonly origin: string;
  readonly registration: Registration;
  /** Null when the job is attached later, or never. */
  readonly job: Job | null;
  /** Time until the deadline; null for the configured one. */
  readonly deadlineMs: number | null;
  /** Null without an account, and also when the charge will return the account. */
  readonly account: Account | null;
  /** The ledger's reference for the charge; null when the ledger charges nothing. */
  readonly chargeId: string | null;
}

/** `POST /v1/events`. */
export interface ReportEvent {
  readonly type: "report";
  readonly id: string;
  readonly news: { readonly status: "processing" } | UpstreamResult;
  /** Counts only when the task does not exist yet; null when the event cannot create it. */
  readonly creation: Creation | null;
}

/** The parts of an event that count only when it creates the task. */
export interface Creation {
  readonly model: string;
  readonly account: Account | null;
  /** True when the event names an account that does not exist. */
  readonly isAccountUnknown: boolean;
  readonly createdAt: number | null;
  readonly callbackUrl: string | null;
  /** Reason why the URL policy refuses `callbackUrl`; null when it does not. */
  readonly callbackUrlRefusal: string | null;
  readonly origin: string;
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
  /** The job that the hook names; null when it names none. */
  readonly jobId: string | null;
  readonly news: UpstreamNews;
  /** True when the provider has signed the body. */
  readonly isSigned: boolean;
}

/** `POST /v1/tasks/{id}/redeliver`: 1 to 3 attempts. */
export interface RedeliverEvent extends RedeliveryOrder {
  readonly type: "redeliver";
  /** Replaces the task's URL from now on; null keeps it. */
  readonly callbackUrl: string | null;
}

export interface AttemptEndedEvent extends AttemptResult {
  readonly type: "attempt_ended";
  readonly number: number;
}

export interface ChargeEndedEvent {
  readonly type: "charge_ended";
  readonly chargeId: string;
  readonly answer: ChargeAnswer;
}

/** The ledger's answer to a charge; `unknown` when there was none in time. */
export type ChargeAnswer =
  | { readonly kind: "charged"; readonly generation: number }
  | { readonly kind: "insufficient"; readonly balance: number; readonly price: number }
  | { readonly kind: "unknown_account" }
  | { readonly kind: "unknown" };

export interface PollEndedEvent {
  readonly type: "poll_ended";
  readonly job: Job;
  /** Nudges counted before this poll; when the record has more, a hook came during the poll. */
  readonly nudges: number;
  /**
   * When the poll was sent, in Unix milliseconds. A poll sent before the deadline is not the last one.
   */
  readonly askedAt: number;
  readonly answer: PollAnswer;
}

export type PollAnswer =
  | { readonly kind: "news"; readonly news: UpstreamNews }
  /** The provider asks to wait; null when it does not say how long. */
  | { readonly kind: "limited"; readonly retryAfterMs: number | null }
  /** The provider refuses the key. */
  | { readonly kind: "unauthorized" }
  /** There was no answer in time, or none that could be read. */
  | { readonly kind: "unanswered" };

export interface RefundEndedEvent {
  readonly type: "refund_ended";
  /** False also when there was no answer in time. */
  readonly isRefunded: boolean;
}

export interface PublishEndedEvent {
  readonly type: "publish_ended";
  /** Version of the row. */
  readonly version: number;
  /** False also when there was no answer in time. */
  readonly isPublished: boolean;
}

export interface NoticeEndedEvent {
  readonly type: "notice_ended";
  readonly kind: NoticeKind;
  readonly version: number;
  /** True when the operator's receiver took the notice; false also when there was no answer in time. */
  readonly isTaken: boolean;
}

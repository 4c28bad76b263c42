import type { AttemptResult, RedeliveryOrder } from "../record/callback.ts";
import type { NoticeKind } from "../record/operator-notice.ts";
import type { Account, Registration } from "../record/task.ts";
import type { HookRefusal } from "../record/tracking.ts";
import type { Job, UpstreamNews, UpstreamResult } from "../record/upstream.ts";

/** An event: anything that can happen to a task. `transition` decides its effect. */
export type TaskEvent =
  | RegisterEvent
  | ReportEvent
  | AttachEvent
  | HookEvent
  | HookRefusedEvent
  | RedeliverEvent
  | RewriteIndexRowEvent
  | { readonly type: "cancel" }
  | { readonly type: "erase" }
  | { readonly type: "deadline" }
  | { readonly type: "attempt_started" }
  | AttemptEndedEvent
  | ChargeEndedEvent
  | PollEndedEvent
  | RefundEndedEvent
  | IndexRowEndedEvent
  | NoticeEndedEvent;

/**
 * Field that three events of API requests share: those that register a task, report its start or result, or
 * attach a job.
 */
interface Requested {
  /** Name of the API key of the request; null when the request is signed instead. */
  readonly keyName: string | null;
}

/** Event of `POST /v1/tasks`, which registers a task. */
export interface RegisterEvent extends Requested {
  readonly type: "register";
  readonly id: string;
  readonly model: string;
  readonly origin: string;
  readonly registration: Registration;
  /** Job of the upstream; null when the job is attached later, or never. */
  readonly job: Job | null;
  /** Time until the deadline, in milliseconds; null for the configured default. */
  readonly deadlineMs: number | null;
  /**
   * Account of the task; null when the task has no account, and also when the ledger still has to charge
   * the price, because its answer brings the account.
   */
  readonly account: Account | null;
  /** Reference under which the ledger charges the price; null when the ledger charges nothing. */
  readonly chargeId: string | null;
}

/** Event of `POST /v1/events`, which reports the start or the result of a task. */
export interface ReportEvent extends Requested {
  readonly type: "report";
  readonly id: string;
  readonly news: { readonly status: "processing" } | UpstreamResult;
  /** Fields for a task that does not exist yet; null when the event cannot create a task. */
  readonly creation: Creation | null;
}

/** Fields of a reported event that count only when the event creates the task. */
export interface Creation {
  readonly model: string;
  readonly account: Account | null;
  /** States that the event names an account that does not exist. */
  readonly isAccountUnknown: boolean;
  readonly createdAt: number | null;
  readonly callbackUrl: string | null;
  /** Reason why the URL rules refuse `callbackUrl`; null when it does not. */
  readonly callbackUrlRefusal: string | null;
  readonly origin: string;
}

/** Event of `POST /v1/tasks/{id}/upstream`, which attaches a job. */
export interface AttachEvent extends Requested {
  readonly type: "attach";
  readonly connection: string;
  readonly job: Job;
  /**
   * States that the upstream can reach the task's hook URL, and that its hooks are expected to come. Absent when
   * a Worker of an earlier release has sent the event; no hook is expected then.
   */
  readonly isHookExpected?: boolean;
}

/** Event of a hook that a provider sent to `POST /hooks/{provider}/{id}/{token}`. */
export interface HookEvent {
  readonly type: "hook";
  readonly connection: string;
  /** Id of the job that the hook names; null when the hook names none. */
  readonly jobId: string | null;
  readonly news: UpstreamNews;
  /** States that the provider's signature proves the body. */
  readonly isSigned: boolean;
  /** Progress of the job in percent, from 0 to 100; absent when the hook states none. */
  readonly progress?: number;
}

/** Event of a hook that came to a valid hook URL of the task and was refused, e.g. for its signature. */
export interface HookRefusedEvent {
  readonly type: "hook_refused";
  readonly connection: string;
  readonly reason: HookRefusal;
}

/** Event of `POST /v1/tasks/{id}/redeliver` and `POST /v1/redeliveries`, which order 1 to 3 attempts. */
export interface RedeliverEvent extends RedeliveryOrder {
  readonly type: "redeliver";
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

/** The ledger's answer to a charge; `unknown` means that there was none in time. */
export type ChargeAnswer =
  | { readonly kind: "charged"; readonly generation: number }
  | { readonly kind: "insufficient"; readonly balance: number; readonly price: number }
  | { readonly kind: "unknown_account" }
  | { readonly kind: "unknown" };

/**
 * Reason for a poll of a job: for the `result` of the job that is attached to an open task; because a hook
 * that came before any job was attached named the job (`kept_job`), so that only an answer counts that names
 * the task; or for a `late_result` of a task that has failed at its deadline.
 */
export type PollPurpose = "result" | "kept_job" | "late_result";

export interface PollEndedEvent {
  readonly type: "poll_ended";
  readonly job: Job;
  readonly purpose: PollPurpose;
  /**
   * Time at which the poll was sent, in Unix milliseconds; shows whether the poll was sent at the deadline or
   * before.
   */
  readonly askedAt: number;
  readonly answer: PollAnswer;
}

export type PollAnswer =
  | {
      readonly kind: "news";
      readonly news: UpstreamNews;
      /** Progress of the job in percent, from 0 to 100; absent when the provider states none. */
      readonly progress?: number;
    }
  /**
   * Answer of a provider that limits the rate; `retryAfterMs` is the wait that it names, in milliseconds,
   * null when it names none.
   */
  | { readonly kind: "limited"; readonly retryAfterMs: number | null }
  /** Answer of a provider that refuses the API key of the connection. */
  | { readonly kind: "unauthorized" }
  /**
   * Answer that was not understood: its HTTP status, and the state of the job that it names and the relay
   * does not know, cut to 32 characters; null when it names none.
   */
  | { readonly kind: "unclear"; readonly statusCode: number; readonly word: string | null }
  /**
   * The poll was not sent, because the relay has polled this connection to the provider as often as the
   * provider permits per minute.
   */
  | { readonly kind: "deferred"; readonly waitMs: number }
  /** The provider could not be reached, did not answer in time, or answered with an error of its own. */
  | { readonly kind: "unanswered" };

export interface RefundEndedEvent {
  readonly type: "refund_ended";
  /** States that the refund is confirmed; false also when there was no answer in time. */
  readonly isRefunded: boolean;
}

/**
 * Event that plans another write of the index row, to repair an index that lacks it. It has the name of the
 * method of the object that plans it, which Workers of other releases call too.
 */
export interface RewriteIndexRowEvent {
  readonly type: "republish";
  /**
   * States that the index row is written at once even when a write is already planned; false means that a
   * planned write keeps its time.
   */
  readonly isAlwaysDue: boolean;
}

export interface IndexRowEndedEvent {
  readonly type: "index_row_ended";
  /** Version of the task's record in the row that was written to the index. */
  readonly version: number;
  /** States that the index has stored the row; false also when there was no answer in time. */
  readonly isWritten: boolean;
}

export interface NoticeEndedEvent {
  readonly type: "notice_ended";
  readonly kind: NoticeKind;
  readonly version: number;
  /** States that the operator's receiver accepted the notice; false also when there was no answer in time. */
  readonly isTaken: boolean;
}

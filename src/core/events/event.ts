import type { AttemptResult, SentTimes } from "../record/callback.ts";
import type { StatedTerms } from "../record/callback-terms.ts";
import type { NoticeKind } from "../record/operator-notice.ts";
import type { AskedEndpoint } from "../record/endpoint-copy.ts";
import type { EndedCopy } from "../record/outputs.ts";
import type { RedeliveryOrder } from "../record/redelivery-keys.ts";
import type { RefusalClass, RefusedEnd } from "../record/refusal.ts";
import type { UnreadReason } from "../record/unread-answer.ts";
import type { SubmissionAnswer, SubmissionStart } from "../record/submission.ts";
import type { Account, Registration } from "../record/task.ts";
import type { Trace } from "../record/trace.ts";
import type { HookRefusal, UnreadHook } from "../record/tracking.ts";
import type { Job, UpstreamEnd, UpstreamNews, UpstreamResult, Used } from "../record/upstream.ts";

/**
 * An event: anything that can happen to a task, e.g. a hook, the answer to a poll, or a request to the API.
 * `transition` decides what the event changes.
 */
export type TaskEvent =
  | RegisterEvent
  | ReportEvent
  | AttachEvent
  | SubmissionEvent
  | HookEvent
  | HookRefusedEvent
  | RedeliverEvent
  | RewriteIndexRowEvent
  | CancelEvent
  | CancelSubmittedEvent
  | { readonly type: "erase" }
  | { readonly type: "deadline" }
  | { readonly type: "attempt_started" }
  | AttemptRestedEvent
  | AttemptEndedEvent
  | CallEndedEvent
  | OutputEvent;

/** The end of a call that the work loop has made because the task required it. */
export type CallEndedEvent =
  | ChargeEndedEvent
  | PollEndedEvent
  | CancelEndedEvent
  | RefundEndedEvent
  | ReleaseEndedEvent
  | QueueLeftEvent
  | IndexRowEndedEvent
  | NoticeEndedEvent;

/**
 * An event about the outputs of a task: the answer to an order to copy them, a report that the copying of some has
 * ended, or an order to delete outputs.
 */
export type OutputEvent = CopiesOrderedEvent | CopiesEndedEvent | DeleteOutputsEvent;

/**
 * An event about the submission of a task: the start of a call that had to wait, the refusal of an attempt to send it,
 * the end of the submission, the moment at which the task fails because its call was not sent in time or the outcome is
 * still unknown, or a check of the customer's key with which the job was submitted.
 */
export type SubmissionEvent =
  | CallStartedEvent
  | CallRefusedEvent
  | SubmitEndedEvent
  | { readonly type: "submission_lost" }
  | { readonly type: "customer_key_checked" };

/**
 * Field of the events that are caused by authenticated requests to the API: to register a task, to report its start or
 * result, and to attach a job. Such a request has an API key or a signature.
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
  /** Job of the upstream. Null when no job is attached at the registration. */
  readonly job: Job | null;
  /** Time until the deadline, in milliseconds. Null when the configured default applies. */
  readonly deadlineMs: number | null;
  /**
   * Account of the task. Null when the task has no account, and when the ledger still has to charge the price: then the
   * ledger's answer states the account.
   */
  readonly account: Account | null;
  /** Reference under which the ledger charges the price. Null when the ledger charges nothing for this task. */
  readonly chargeId: string | null;
  /**
   * Submission that begins with this registration. Absent for `POST /v1/tasks`, whose caller submits the job itself.
   */
  readonly submission?: SubmissionStart;
  /**
   * True when the price comes from an offer of the operator. The offer may have another price when the submission is
   * repeated. Absent when the caller has stated the price, or none.
   */
  readonly isPriceOffered?: true;
  /** Endpoint of a new task. Absent when its callback goes to the registered URL, or nowhere. */
  readonly endpoint?: AskedEndpoint;
  /** Trace context of the request. Absent when it states none. */
  readonly trace?: Trace;
}

/**
 * Event with which the sender of a call that had to wait begins it. The call is sent only if the task then says so
 * (`callStartOf`, events/call-start.ts).
 */
export interface CallStartedEvent {
  readonly type: "call_started";
  readonly submissionId: string;
  /** Number of the attempt, from 1. Absent when the submission is in no queue. */
  readonly attempt?: number;
  /** Name of the connection that has a place for the call. Absent when the submission is in no queue. */
  readonly connection?: string;
}

/**
 * Event of the proof that an attempt to send a call has started nothing: the upstream has refused it for a reason that
 * does not concern the call itself (`busy`, `rate`, `funds`, `key`). Another attempt may follow.
 */
export interface CallRefusedEvent {
  readonly type: "call_refused";
  readonly submissionId: string;
  /** Number of the attempt, from 1. */
  readonly attempt: number;
  /** Name of the connection that the attempt used. */
  readonly connection: string;
  readonly statusCode: number;
  readonly refusal: RefusalClass;
}

/**
 * Event of the end of a submission. Either the Worker that has sent the call reports the upstream's answer, or the time
 * that the upstream has for its answer is over.
 */
export interface SubmitEndedEvent {
  readonly type: "submit_ended";
  readonly submissionId: string;
  readonly outcome: SubmitOutcome;
  /**
   * True when the caller, who has waited for the answer, has been told of the task before the outcome was known. Absent
   * when this is not so.
   */
  readonly isTaskKnown?: true;
  /** Number of the attempt that has ended. Absent for the present one. */
  readonly attempt?: number;
  /**
   * Members of the pool for which the sender keeps an accepted call, in case its job fails. Absent when there are none.
   */
  readonly further?: readonly string[];
}

/**
 * Outcome of a submission:
 * - `accepted`: the upstream has named the job that it has started.
 * - `result`: the answer is itself the end of the job. `job` is null when it names none.
 * - `refused`: the upstream has certainly started no job.
 * - `not_sent`: the call was not sent, and will not be.
 * - `unknown`: the upstream may have started a job. `statusCode` is null when there was no answer.
 */
export type SubmitOutcome =
  | ({
      readonly kind: "accepted";
      readonly job: Job;
      /** True when the upstream has got the task's hook URL and can reach it, so that a hook is expected. */
      readonly isHookExpected: boolean;
    } & Answered)
  | ({ readonly kind: "result"; readonly job: Job | null; readonly news: UpstreamEnd } & Answered)
  | {
      readonly kind: "refused";
      readonly statusCode: number;
      readonly refusal: RefusalClass;
      /** Wait that the upstream has stated (`Retry-After`), in milliseconds. Absent when it has stated none. */
      readonly retryAfterMs?: number;
      /**
       * The upstream's answer, which is stored for the reader of a call. Absent when nobody reads it later, because the
       * caller of the submission has got it.
       */
      readonly answer?: SubmissionAnswer;
      /** End of the task for the reason that the answer states. Absent when it is derived from the class alone. */
      readonly end?: RefusedEnd;
    }
  | { readonly kind: "not_sent" }
  | {
      readonly kind: "unknown";
      readonly statusCode: number | null;
      /** Why the answer could not be read. Absent when there was none, or one that states no outcome. */
      readonly unread?: UnreadReason;
    };

/** Outcome of a submission that the upstream has refused. */
export type RefusedOutcome = Extract<SubmitOutcome, { readonly kind: "refused" }>;

interface Answered {
  readonly statusCode: number;
  /** The upstream's answer, stored for callers who repeat the submission. Null when it is too long to be stored. */
  readonly answer: SubmissionAnswer | null;
}

/** Event of `POST /v1/events`, which reports the start or the result of a task. */
export interface ReportEvent extends Requested {
  readonly type: "report";
  readonly id: string;
  readonly news: { readonly status: "processing" } | (UpstreamResult & Used);
  /** Fields for a task that does not exist yet. Null when this event cannot create a task. */
  readonly creation: Creation | null;
}

/** Fields of a reported event that are used only when the event creates the task. */
export interface Creation extends StatedTerms {
  readonly model: string;
  readonly account: Account | null;
  /** True when the event names an account that does not exist. */
  readonly isAccountUnknown: boolean;
  readonly createdAt: number | null;
  readonly callbackUrl: string | null;
  /** Endpoint of the task. Absent when its callback goes to `callbackUrl`, or nowhere. */
  readonly endpoint?: AskedEndpoint;
  /** Reason why the URL rules refuse `callbackUrl`. Null when they do not refuse it. */
  readonly callbackUrlRefusal: string | null;
  readonly origin: string;
  /** Trace context of the request. Absent when it states none. */
  readonly trace?: Trace;
}

/** Event of `POST /v1/tasks/{id}/upstream`, which attaches a job. */
export interface AttachEvent extends Requested {
  readonly type: "attach";
  readonly connection: string;
  readonly job: Job;
  /** True when the upstream can reach the task's hook URL, so that a hook is expected. */
  readonly isHookExpected: boolean;
}

/** Event of a hook that a provider sent to `POST /hooks/{provider}/{id}/{token}`. */
export interface HookEvent {
  readonly type: "hook";
  readonly connection: string;
  /** Id of the job that the hook names. Null when the hook names no job. */
  readonly jobId: string | null;
  /**
   * State or result of the job that the hook reports. For a hook that is not understood (`unread`), it is `no_output` and is not used.
   */
  readonly news: UpstreamNews;
  /**
   * Reason why the hook is not understood. Such a hook counts as a claim that the job has ended, which a poll verifies.
   * Absent for a hook that is understood.
   */
  readonly unread?: UnreadHook;
  /**
   * Id of the submission whose hook URL has received this hook. Absent when the hook came to a hook URL that a
   * registration has returned to its caller.
   */
  readonly submissionId?: string;
  /** True when the provider has signed the hook and the signature is valid. */
  readonly isSigned: boolean;
  /** Progress of the job in percent, from 0 to 100; absent when the hook states none. */
  readonly progress?: number;
}

/** Event of a hook that came to a valid hook URL of the task and was refused, e.g. because of a wrong signature. */
export interface HookRefusedEvent {
  readonly type: "hook_refused";
  readonly connection: string;
  readonly reason: HookRefusal;
}

/** Event of `POST /v1/tasks/{id}/redeliver` and `POST /v1/redeliveries`, which order 1 to 3 attempts. */
export interface RedeliverEvent extends RedeliveryOrder {
  readonly type: "redeliver";
  /** Endpoint that the order names, as it is now. Absent when the order names none. */
  readonly endpoint?: AskedEndpoint;
}

/** Event of `POST /v1/tasks/{id}/cancel` by the operator. */
export interface CancelEvent {
  readonly type: "cancel";
  /** True when the order is to fail the task at once, whatever becomes of its job. */
  readonly isForced: boolean;
}

/**
 * Event of `POST /v1/tasks/{id}/cancel` by the account that owns the task, which may cancel only what it has submitted
 * itself.
 */
export interface CancelSubmittedEvent {
  readonly type: "cancel_submitted";
}

/** The finding, before a started attempt was sent, that its receiver's host is paused. */
export interface AttemptRestedEvent {
  readonly type: "attempt_rested";
  readonly number: number;
  /** End of the pause, in Unix milliseconds. */
  readonly until: number;
}

export interface AttemptEndedEvent extends AttemptResult {
  readonly type: "attempt_ended";
  readonly number: number;
  /** Start and end of the attempt by the clock of its sender. Absent when it is found interrupted, which ends it now. */
  readonly sent?: SentTimes;
}

export interface ChargeEndedEvent {
  readonly type: "charge_ended";
  readonly chargeId: string;
  readonly answer: ChargeAnswer;
}

/** The ledger's answer to a charge. `unknown` means that no answer came in time. */
export type ChargeAnswer =
  | { readonly kind: "charged"; readonly generation: number }
  | {
      readonly kind: "insufficient";
      readonly balance: number;
      readonly price: number;
      /** Present when the monthly limit of the account is the reason, and not its balance. */
      readonly month?: SpentMonth;
    }
  | { readonly kind: "unknown_account" }
  | { readonly kind: "unknown" };

/** The monthly limit of an account, and what the charges of the present month (UTC) cost, in credits. */
export interface SpentMonth {
  readonly limit: number;
  readonly spent: number;
}

/**
 * Reason for a poll of a job:
 * - `result`: the job is attached to an open task.
 * - `kept_job`: no job is attached to the task, and only a hook has named this job. Only an answer that names the
 *   task counts.
 * - `late_result`: the task has failed at its deadline, and its job may still succeed.
 */
export type PollPurpose = "result" | "kept_job" | "late_result";

export interface PollEndedEvent {
  readonly type: "poll_ended";
  readonly job: Job;
  readonly purpose: PollPurpose;
  /**
   * Time at which the poll was sent, in Unix milliseconds. It tells whether the poll was sent at the deadline or
   * earlier.
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
   * Answer of a provider that refuses the poll because it got too many requests. `retryAfterMs` is the wait that the
   * provider names, in milliseconds; null when it names none.
   */
  | { readonly kind: "limited"; readonly retryAfterMs: number | null }
  /** Answer of a provider that refuses the API key of the connection. */
  | { readonly kind: "unauthorized" }
  /**
   * Answer that was not understood. `statusCode` is its HTTP status. `word` is the job state that the answer names but
   * the relay does not know, cut to 32 characters; null when there is none.
   */
  | { readonly kind: "unclear"; readonly statusCode: number; readonly word: string | null }
  /**
   * Result of a poll that was not sent, because the connection was polled as often per minute as its limit permits.
   */
  | { readonly kind: "deferred"; readonly waitMs: number }
  /**
   * Result of a poll that got no usable answer: the provider could not be reached, did not answer in time, or
   * answered with an error of its own. `retryAfterMs` is the wait that such an error names, in milliseconds; absent when
   * none is named.
   */
  | { readonly kind: "unanswered"; readonly retryAfterMs?: number };

/** Event of the end of a call that asks the upstream to cancel the job of a task. */
export interface CancelEndedEvent {
  readonly type: "cancel_ended";
  readonly job: Job;
  readonly answer: CancelAnswer;
}

/**
 * Answer of the upstream to a cancellation:
 * - `canceled`: the job is canceled.
 * - `accepted`: the upstream has taken the order, and will cancel the job if it can.
 * - `ended`: the job has ended already.
 * - `refused`: the upstream does not cancel the job, or refuses the call. `statusCode` is null when the call was not
 *   sent, because the upstream does not cancel a job in this state.
 * - `unclear`: the answer was not understood.
 * - `unanswered`: the upstream could not be reached, did not answer in time, or answered with an error of its own or
 *   with a rate limit. The call is repeated.
 */
export type CancelAnswer =
  | { readonly kind: "canceled"; readonly statusCode: number | null }
  | UnconfirmedCancel;

/** Answer of the upstream that does not confirm a cancellation. */
export interface UnconfirmedCancel {
  readonly kind: "accepted" | "ended" | "refused" | "unclear" | "unanswered";
  readonly statusCode: number | null;
}

export interface RefundEndedEvent {
  readonly type: "refund_ended";
  /** True when the refund is confirmed. False when it was refused, and when no answer came in time. */
  readonly isRefunded: boolean;
  /** Id of the refused submission whose credits are refunded; null for the refund of a failed task. */
  readonly submissionId: string | null;
}

/**
 * Event of the end of a call that gives back the difference between the credits charged for a completed task and its
 * final price.
 */
export interface ReleaseEndedEvent {
  readonly type: "release_ended";
  /** True when the release is confirmed. False when it was refused, and when no answer came in time. */
  readonly isReleased: boolean;
}

/** Event of the end of a call by which the submission of a task leaves the queues of its connections. */
export interface QueueLeftEvent {
  readonly type: "queue_left";
  readonly submissionId: string;
  /** True when all queues have confirmed it. False when one has not, and when no answer came in time. */
  readonly isLeft: boolean;
}

/** Event that plans another write of the task's index row, because the row may be missing in the index. */
export interface RewriteIndexRowEvent {
  readonly type: "rewrite_index_row";
  /**
   * True when the index row is written at once, even if a write is planned already. False when a planned write
   * keeps its time.
   */
  readonly isAlwaysDue: boolean;
}

export interface IndexRowEndedEvent {
  readonly type: "index_row_ended";
  /** True when a write of this version of the row was planned before. That write may have succeeded. */
  readonly isRepeat: boolean;
  /** Version of the task's record from which the written row was derived. */
  readonly version: number;
  /** True when the index has stored the row. False when the index has failed, and when no answer came in time. */
  readonly isWritten: boolean;
}

export interface NoticeEndedEvent {
  readonly type: "notice_ended";
  readonly kind: NoticeKind;
  readonly version: number;
  /**
   * True when the operator's receiver has accepted the notice. False when it has not, and when no answer came in
   * time.
   */
  readonly isTaken: boolean;
}

export interface CopiesOrderedEvent {
  readonly type: "copies_ordered";
  /**
   * Creation time of the task's record, in Unix milliseconds. Tasks with the same id differ in it
   * (`TaskRecord.recordedAt`).
   */
  readonly recordedAt: number;
  /**
   * True when the object that copies the outputs of the task has accepted the order. False when it has not, and when no
   * answer came in time.
   */
  readonly isTaken: boolean;
  /** Numbers of the deleted outputs that the order named. */
  readonly deleted: readonly number[];
}

/** Event with which the object that copies the outputs of a task reports that the copying of some has ended. */
export interface CopiesEndedEvent {
  readonly type: "copies_ended";
  /**
   * Creation time of the task's record, in Unix milliseconds. Tasks with the same id differ in it
   * (`TaskRecord.recordedAt`).
   */
  readonly recordedAt: number;
  readonly ended: readonly NumberedCopy[];
}

/** Event of `DELETE /v1/tasks/{id}/outputs` and `DELETE /v1/tasks/{id}/outputs/{output}`. */
export interface DeleteOutputsEvent {
  readonly type: "delete_outputs";
  /**
   * Number of the output that is deleted: its position in `output.urls`, counted from 1. Null when all outputs of the
   * task are deleted.
   */
  readonly number: number | null;
}

/** The number of an output, and how the copying of it has ended. */
export interface NumberedCopy {
  readonly number: number;
  readonly state: EndedCopy;
}

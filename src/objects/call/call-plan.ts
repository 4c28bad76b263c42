import type { CallStart } from "../../core/events/call-start.ts";
import type { SubmitEndedEvent, SubmitOutcome } from "../../core/events/event.ts";
import { planRetry, type Retry } from "../../core/record/credits.ts";
import { SECOND_MS } from "../../core/time.ts";
import type { SecretsOfCall } from "../../outbound/answer-secrets.ts";
import type { LeftUpload } from "../output/copy-plan.ts";
import type { BodySize } from "./stored-body.ts";

/** A call to an upstream whose client does not wait for the answer, in the form in which it is stored. */
export interface StoredCall {
  readonly taskId: string;
  readonly submissionId: string;
  /** Name of the connection. */
  readonly connection: string;
  /** Model of the task, from which a simulated provider makes its answer. */
  readonly model: string;
  /** Path below the base URL of the connection, as the client has written it, without a query. */
  readonly path: string;
  /** Path and query with which the call is sent. */
  readonly sentPath: string;
  /** Headers with which the call is sent, except those with a key. */
  readonly headers: readonly (readonly [string, string])[];
  /** Header with the customer's key. Null when the key of the connection is sent. */
  readonly keyHeader: KeyHeader | null;
  /** Id of the job if the call itself contains it; null when the upstream states it in its answer. */
  readonly jobId: string | null;
  /** True when the upstream gets the task's hook URL and can reach it. */
  readonly isHookExpected: boolean;
  /**
   * True when the upstream's answer is the result, so that the files in it are stored in the bucket. Otherwise the files
   * in the bucket are copies of the outputs of the job, which a hook may have ended before the call has.
   */
  readonly storesFiles: boolean;
  readonly secrets: SecretsOfCall;
}

/** Header in which a customer has sent a key, and the text that stands in it before the key, e.g. `Bearer `. */
export interface KeyHeader {
  readonly name: string;
  readonly prefix: string;
}

/** Stored state of the Durable Object of a call. */
export type CallState =
  /** State while the body of a call arrives, or is stored and the call itself is not known yet. */
  | { readonly kind: "receiving"; readonly body: BodySize | null }
  | QueuedCall
  | SendingCall
  | EndedCall
  | UntakenFiles;

/** A call that waits for the order of its task to be sent. */
export interface QueuedCall {
  readonly kind: "queued";
  readonly call: StoredCall;
  readonly body: BodySize;
  /** Plan of the next question to the task. */
  readonly ask: Retry;
}

/** A call that is being sent. After a crash nobody knows how far it got, so it is never sent again. */
export interface SendingCall {
  readonly kind: "sending";
  readonly call: StoredCall;
  readonly body: BodySize;
  readonly start: SendOrder;
  /** Unfinished multipart uploads of files in the answer, which may have left parts in the bucket. */
  readonly uploads: readonly LeftUpload[];
}

/** What of the order of a task to send its call is needed to make it. */
export type SendOrder = Pick<
  Extract<CallStart, { readonly kind: "send" }>,
  "customerKey" | "recordedAt"
>;

/** A call that has ended, with an outcome that its task has not confirmed yet. */
export interface EndedCall {
  readonly kind: "ended";
  readonly taskId: string;
  readonly recordedAt: number;
  readonly end: SubmitEndedEvent;
  /** True when files of the answer may be in the bucket. */
  readonly hasFiles: boolean;
  readonly report: Retry;
}

/** Files of an answer that the task has not taken, because it has ended in another way. They are being deleted. */
export interface UntakenFiles {
  readonly kind: "untaken";
  readonly taskId: string;
  readonly recordedAt: number;
  readonly deletion: Retry;
}

/**
 * Time in milliseconds after which the object of a call asks the task about it, if nobody has told it to begin: the
 * Worker that has stored the call may have failed before or after the registration of the task.
 */
export const UNCALLED_MS = 30 * SECOND_MS;
/** Time in milliseconds after which the task is asked again while its price is being charged. */
const CHARGING_MS = 2 * SECOND_MS;

/** Returns a call that was stored, and whose task is asked later about it. */
export function queueCall(call: StoredCall, body: BodySize, now: number): QueuedCall {
  return { kind: "queued", call, body, ask: { retryAt: now + UNCALLED_MS, tries: 0 } };
}

/** Returns a waiting call whose task is asked again later, because it could not be reached. */
export function askLater(queued: QueuedCall, now: number): QueuedCall {
  return { ...queued, ask: planRetry(queued.ask, now) };
}

/** Returns a waiting call whose task is asked again soon, because its price is being charged. */
export function askSoon(queued: QueuedCall, now: number): QueuedCall {
  return { ...queued, ask: { ...queued.ask, retryAt: now + CHARGING_MS } };
}

/** Returns a call that is sent from now on. */
export function beginSending({ call, body }: QueuedCall, start: SendOrder): SendingCall {
  return { kind: "sending", call, body, start, uploads: [] };
}

/** Returns a call that is being sent, after a multipart upload of a file in its answer has begun. */
export function withLeftUpload(sending: SendingCall, upload: LeftUpload): SendingCall {
  return { ...sending, uploads: [...sending.uploads, upload] };
}

/** Returns a call that has ended, whose outcome is reported at once. */
export function endCall(
  { call: { taskId, submissionId }, start: { recordedAt } }: SendingCall,
  { outcome, hasFiles }: CallEnd,
  now: number,
): EndedCall {
  const end: SubmitEndedEvent = { type: "submit_ended", submissionId, outcome };
  return { kind: "ended", taskId, recordedAt, end, hasFiles, report: { retryAt: now, tries: 0 } };
}

/** How a call has ended. */
export interface CallEnd {
  readonly outcome: SubmitOutcome;
  /** True when files of the answer may be in the bucket. */
  readonly hasFiles: boolean;
}

/** Returns a call whose outcome is reported again later, because the task could not be reached. */
export function reportLater(ended: EndedCall, now: number): EndedCall {
  return { ...ended, report: planRetry(ended.report, now) };
}

/** Returns the files of a call whose task has not taken them. */
export function leaveFiles({ taskId, recordedAt }: EndedCall, now: number): UntakenFiles {
  return { kind: "untaken", taskId, recordedAt, deletion: { retryAt: now, tries: 0 } };
}

/** Returns files that no task has taken, which are deleted again later, because the bucket has failed. */
export function deleteLater(untaken: UntakenFiles, now: number): UntakenFiles {
  return { ...untaken, deletion: planRetry(untaken.deletion, now) };
}

/** Returns the time at which the object of a call must work next, in Unix milliseconds. Null when it need not. */
export function callDueAt(state: CallState): number | null {
  switch (state.kind) {
    case "queued":
      return state.ask.retryAt;
    case "ended":
      return state.report.retryAt;
    case "untaken":
      return state.deletion.retryAt;
    case "receiving":
    case "sending":
      return null;
  }
}

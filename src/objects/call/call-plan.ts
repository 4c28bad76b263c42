import type { CallStart } from "../../core/events/call-start.ts";
import type { SubmitEndedEvent, SubmitOutcome } from "../../core/events/event.ts";
import { planRetry, type Retry } from "../../core/record/credits.ts";
import { isAboutAccount } from "../../core/record/refusal.ts";
import { MINUTE_MS, SECOND_MS } from "../../core/time.ts";
import type { SecretsOfCall } from "../../outbound/answer-secrets.ts";
import type { LeftUpload } from "../output/copy-plan.ts";
import type { GrantAnswer, GrantedPlace } from "../queue/queue-row.ts";
import type { PlaceReply } from "../queue/place-request.ts";
import type { BodySize } from "./stored-body.ts";

/** A call to an upstream whose client does not wait for the answer, in the form in which it is stored. */
export interface StoredCall {
  readonly taskId: string;
  readonly submissionId: string;
  /** Name of the connection or pool to which the submission is addressed. */
  readonly connection: string;
  /** The queues in which the call waits for a place. Absent when the jobs of its connection are not limited. */
  readonly queues?: CallQueues;
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
  /**
   * True when the call is kept after the upstream has accepted it, and is submitted to the further members of its pool if
   * the job fails. Absent when it is forgotten then.
   */
  readonly isKept?: true;
}

/** The queues in which a call waits for a place. */
export interface CallQueues {
  /** Names of their connections, the preferred ones first. */
  readonly connections: readonly string[];
  /** Account that pays for the task. Null for tasks of the operator. */
  readonly account: string | null;
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
  | RefusedCall
  | KeptCall
  | EndedCall
  | UntakenFiles;

/** A call that waits for a place, if its connection permits only so many jobs, and for the order of its task to be sent. */
export interface QueuedCall {
  readonly kind: "queued";
  readonly call: StoredCall;
  readonly body: BodySize;
  /** Plan of the next question to the task, or to the queues while the call has no place. */
  readonly ask: Retry;
  /** Absent when the call is in no queue. */
  readonly stay?: CallStay;
}

/** The stay of a call in the queues of its connections. */
export interface CallStay {
  /** Names of the connections that may still take the call, the preferred ones first. */
  readonly connections: readonly string[];
  /** Time since which the call has waited, in Unix milliseconds. */
  readonly since: number;
  /** Number of the present attempt, from 1. */
  readonly attempt: number;
  /** Connection at which the call has a place. Null while it waits for one. */
  readonly place: string | null;
  /** True when the task is known to be registered, so that the call may be sent as soon as it has a place. */
  readonly isBegun: boolean;
}

/** A call that is being sent. After a crash nobody knows how far it got, so it is never sent again. */
export interface SendingCall {
  readonly kind: "sending";
  readonly call: StoredCall;
  readonly body: BodySize;
  readonly start: SendOrder;
  /** Unfinished multipart uploads of files in the answer, which may have left parts in the bucket. */
  readonly uploads: readonly LeftUpload[];
  /** Absent when the call is in no queue, and when its caller waits for the answer. */
  readonly stay?: CallStay;
}

/**
 * A call of which an attempt has started nothing, because the upstream has refused it for a reason that does not concern
 * the call itself. The task and the queue are told of it before the call waits again.
 */
export interface RefusedCall {
  readonly kind: "refused";
  readonly call: StoredCall;
  readonly body: BodySize;
  readonly stay: CallStay;
  readonly recordedAt: number;
  readonly outcome: RefusedOutcome;
  readonly report: Retry;
}

/**
 * A call whose job runs, and which is submitted to another member of the pool if the job fails. The task says when this
 * is so, and when the call can be forgotten.
 */
export interface KeptCall {
  readonly kind: "kept";
  readonly call: StoredCall;
  readonly body: BodySize;
  /** The stay with the place that the job uses. */
  readonly stay: CallStay;
  /** Plan of the next question to the task. */
  readonly ask: Retry;
}

export type RefusedOutcome = Extract<SubmitOutcome, { readonly kind: "refused" }>;

/** Part of the order to send a call (`CallStart`) that is stored while the call is made, and the place that it uses. */
export interface SendOrder extends Pick<
  Extract<CallStart, { readonly kind: "send" }>,
  "customerKey" | "recordedAt"
> {
  /** The place that the call uses. Absent when it is in no queue. */
  readonly place?: GrantedPlace;
}

/** A call that has ended, with an outcome that its task has not confirmed yet. */
export interface EndedCall {
  readonly kind: "ended";
  readonly taskId: string;
  readonly recordedAt: number;
  readonly end: SubmitEndedEvent;
  /** True when files of the answer may be in the bucket. */
  readonly hasFiles: boolean;
  readonly report: Retry;
  /** The call, which is kept when the task has confirmed the outcome. Absent when it is forgotten then. */
  readonly kept?: Pick<KeptCall, "call" | "body" | "stay">;
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

/**
 * Time in milliseconds after which a call that waits for a place asks for it again, in case the queue has lost it. A
 * queue that grants a place tells the call by itself.
 */
const WATCH_MS = 10 * MINUTE_MS;

/** Time in milliseconds after which the task of a kept call is asked again, in case it could not tell of a change. */
const FOLLOW_MS = 5 * MINUTE_MS;

/** Returns a call that was stored, and whose task is asked later about it. */
export function queueCall(call: StoredCall, body: BodySize, now: number): QueuedCall {
  const ask = { retryAt: now + UNCALLED_MS, tries: 0 };
  if (call.queues === undefined) return { kind: "queued", call, body, ask };
  const { connections } = call.queues;
  const stay = { connections, since: now, attempt: 1, place: null, isBegun: false };
  return { kind: "queued", call, body, ask, stay };
}

/** Returns a waiting call whose task is registered. It is sent at once, unless it waits for a place. */
export function beginCall(queued: QueuedCall, now: number): QueuedCall {
  const { ask, stay } = queued;
  if (stay === undefined) return { ...queued, ask: { ...ask, retryAt: now } };
  const begun = { ...queued, stay: { ...stay, isBegun: true } };
  if (stay.place !== null) return { ...begun, ask: { retryAt: now, tries: 0 } };
  // A queue that could not be reached is asked again soon.
  return ask.tries > 0 ? begun : watchQueues(begun, now);
}

function watchQueues(queued: QueuedCall, now: number): QueuedCall {
  return { ...queued, ask: { retryAt: now + WATCH_MS, tries: 0 } };
}

/** Effect of the answer of the queues that were asked for a place. */
interface PlaceEffect {
  /** The changed call. Null when it has not changed. */
  readonly next: QueuedCall | null;
  /** Connection whose place the call uses. Null when it has none. */
  readonly place: string | null;
  /** False when the call must leave the queues of all connections but this one. */
  readonly isSettled: boolean;
}

/**
 * Returns the effect of the answer of the queues that were asked for a place. Meanwhile another place may have come, and
 * the call may have been dropped.
 */
export function applyPlaceReply(
  state: CallState | null,
  attempt: number,
  reply: PlaceReply,
  now: number,
): PlaceEffect {
  if (state?.kind !== "queued" || state.stay?.attempt !== attempt) {
    return { next: null, place: null, isSettled: false };
  }
  const { stay } = state;
  if (stay.place !== null) return { next: null, place: stay.place, isSettled: false };
  if (reply.kind === "granted") {
    const { connection } = reply;
    return { next: withPlace(state, stay, connection, now), place: connection, isSettled: false };
  }
  const waiting = { place: null, isSettled: true };
  if (reply.kind !== "waiting" || !reply.isEverywhere) {
    return { next: askLater(state, now), ...waiting };
  }
  return { next: stay.isBegun ? watchQueues(state, now) : null, ...waiting };
}

/** Result of the news that a call has got a place: the answer for the queue, and the changed call if it has changed. */
interface Granted {
  readonly answer: GrantAnswer;
  readonly next: QueuedCall | null;
}

/** Returns the effect of the news that a call has got a place. A call that has one already, or is gone, needs no other. */
export function grantPlace(
  state: CallState | null,
  { connection, attempt }: GrantedPlace,
  now: number,
): Granted {
  const gone = { answer: "gone", next: null } as const;
  if (state?.kind !== "queued" && state?.kind !== "sending" && state?.kind !== "kept") return gone;
  const { stay } = state;
  if (stay?.attempt !== attempt) return gone;
  if (stay.place === connection) return { answer: "taken", next: null };
  if (stay.place !== null || state.kind !== "queued") return gone;
  return { answer: "taken", next: withPlace(state, stay, connection, now) };
}

function withPlace(queued: QueuedCall, stay: CallStay, place: string, now: number): QueuedCall {
  // Before its registration, the task would say that it does not know the call.
  const ask = stay.isBegun ? { retryAt: now, tries: 0 } : queued.ask;
  return { ...queued, ask, stay: { ...stay, place } };
}

/** Returns a call whose task is asked again later, because it or a queue could not be reached. */
export function askLater<T extends QueuedCall | KeptCall>(state: T, now: number): T {
  return { ...state, ask: planRetry(state.ask, now) };
}

/** Returns a waiting call whose task is asked again soon, because its price is being charged. */
export function askSoon(queued: QueuedCall, now: number): QueuedCall {
  return { ...queued, ask: { ...queued.ask, retryAt: now + CHARGING_MS } };
}

/** Returns a call that is sent from now on. */
export function beginSending({ call, body, stay }: QueuedCall, start: SendOrder): SendingCall {
  const sending = { kind: "sending", call, body, start, uploads: [] } as const;
  if (stay === undefined || stay.place === null) return sending;
  const place = { connection: stay.place, attempt: stay.attempt };
  return { ...sending, start: { ...start, place }, stay };
}

/**
 * Tells whether the outcome of an attempt permits another one, because the upstream has refused it for a reason that
 * concerns its account or its load and not the call, so that it has started nothing.
 */
export function mayBeSentAgain(outcome: SubmitOutcome): outcome is RefusedOutcome {
  return outcome.kind === "refused" && outcome.refusal !== "final";
}

/** Returns a call after an attempt that has started nothing. */
export function refuseAttempt(
  { call, body, start }: SendingCall,
  stay: CallStay,
  outcome: RefusedOutcome,
  now: number,
): RefusedCall {
  const report = { retryAt: now, tries: 0 };
  return { kind: "refused", call, body, stay, recordedAt: start.recordedAt, outcome, report };
}

/**
 * Returns a call that waits for a place for another attempt, at the time at which it has waited since. Without a further
 * connection it has ended: one that has no money, or does not accept the key, is not asked again.
 */
export function nextAttempt(refused: RefusedCall, now: number): QueuedCall | EndedCall {
  const { call, body, stay, outcome, recordedAt } = refused;
  const isOut = isAboutAccount(outcome.refusal);
  const connections = stay.connections.filter((name) => !isOut || name !== stay.place);
  if (connections.length === 0) return endCall(call, recordedAt, { outcome, hasFiles: false }, now);
  const next = { ...stay, connections, attempt: stay.attempt + 1, place: null };
  // Another alarm makes the next attempt, so that each has the whole time of an alarm.
  return { kind: "queued", call, body, ask: { retryAt: now + 1, tries: 0 }, stay: next };
}

/**
 * Returns the members to which the call may be submitted if its present job fails. Empty for a call that is not kept.
 */
function furtherMembers({ isKept }: StoredCall, { connections, place }: CallStay) {
  return isKept === true ? connections.filter((name) => name !== place) : [];
}

/** Returns a call that the upstream has accepted: it is kept if it may be submitted to another member of its pool. */
export function acceptCall(
  { call, body, start, stay }: SendingCall,
  end: CallEnd,
  now: number,
): EndedCall {
  const ended = endCall(call, start.recordedAt, end, now);
  const further = stay === undefined ? [] : furtherMembers(call, stay);
  if (stay === undefined || further.length === 0) return ended;
  const report = { ...ended.end, attempt: stay.attempt, further };
  return { ...ended, end: report, kept: { call, body, stay } };
}

/** Returns a call whose job runs. Its task is asked soon for the first time, because the job may have ended meanwhile. */
export function keepCall(kept: Pick<KeptCall, "call" | "body" | "stay">, now: number): KeptCall {
  return { kind: "kept", ...kept, ask: { retryAt: now + UNCALLED_MS, tries: 0 } };
}

/** Returns a kept call whose task is asked at once, because it has changed. */
export function askNow(kept: KeptCall, now: number): KeptCall {
  return { ...kept, ask: { retryAt: now, tries: 0 } };
}

/** Returns a kept call whose job runs, and whose task is asked again in a while. */
export function watchJob(kept: KeptCall, now: number): KeptCall {
  return { ...kept, ask: { retryAt: now + FOLLOW_MS, tries: 0 } };
}

/** Returns a kept call that waits for a place at another member, because its job has failed and its place is free. */
export function submitAgain({ call, body, stay }: KeptCall, now: number): QueuedCall {
  const connections = furtherMembers(call, stay);
  const next = { ...stay, connections, attempt: stay.attempt + 1, place: null };
  return { kind: "queued", call, body, ask: { retryAt: now + 1, tries: 0 }, stay: next };
}

/** Returns a call that is being sent, after a multipart upload of a file in its answer has begun. */
export function withLeftUpload(sending: SendingCall, upload: LeftUpload): SendingCall {
  return { ...sending, uploads: [...sending.uploads, upload] };
}

/** Returns a call that has ended, whose outcome is reported at once. */
export function endCall(
  { taskId, submissionId }: StoredCall,
  recordedAt: number,
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

/** Returns a call whose outcome is reported again later, because the task or a queue could not be reached. */
export function reportLater<T extends EndedCall | RefusedCall>(ended: T, now: number): T {
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
    case "kept":
      return state.ask.retryAt;
    case "refused":
    case "ended":
      return state.report.retryAt;
    case "untaken":
      return state.deletion.retryAt;
    case "receiving":
    case "sending":
      return null;
  }
}

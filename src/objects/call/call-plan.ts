import type { CallStart } from "../../core/events/call-start.ts";
import type { RefusedOutcome, SubmitEndedEvent, SubmitOutcome } from "../../core/events/event.ts";
import { planRetry, type Retry } from "../../core/record/retry.ts";
import { isAboutAccount } from "../../core/record/refusal.ts";
import { MINUTE_MS, SECOND_MS } from "../../core/time.ts";
import type { SecretsOfCall } from "../../outbound/answer-secrets.ts";
import type { LeftUpload } from "../output/copy-plan.ts";
import { type GrantAnswer, type GrantedPlace, isCertainlyKept } from "../queue/queue-row.ts";
import { type PlaceReply, QUEUE_TIMEOUT_MS } from "../queue/place-request.ts";
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
  /**
   * Header in which the customer has sent a key, and the text that stands in it before the key, e.g. `Bearer `. Null when
   * the key of the connection is sent.
   */
  readonly keyHeader: { readonly name: string; readonly prefix: string } | null;
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

/** What is known of the wait of a call in queues, whatever becomes of its attempts. */
export interface CallWait {
  /** Names of the connections that may still take the call, the preferred ones first. */
  readonly connections: readonly string[];
  /** Time since which the call has waited, in Unix milliseconds. */
  readonly since: number;
}

/** The stay of a call in the queues of its connections. */
export interface CallStay extends CallWait {
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
  readonly wait?: CallWait;
}

/**
 * A call of which an attempt has started nothing, because the upstream has refused it for a reason that does not concern
 * the call itself. The task and the queue are told of it before the call waits again.
 */
export interface RefusedCall {
  readonly kind: "refused";
  readonly call: StoredCall;
  readonly body: BodySize;
  readonly wait: CallWait;
  /** The place that the attempt has used. */
  readonly place: GrantedPlace;
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
  /** The wait at the members to which the call may still be submitted. */
  readonly wait: CallWait;
  /** The place that the job uses. */
  readonly place: GrantedPlace;
  /** Plan of the next question to the task. */
  readonly ask: Retry;
}

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
  readonly kept?: Omit<KeptCall, "kind" | "ask">;
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

/**
 * Returns a call that was stored, and whose task is asked later about it. If the call is to enter queues, this is planned
 * for a time at which they have all been asked.
 */
export function queueCall(call: StoredCall, body: BodySize, now: number): QueuedCall {
  const { queues } = call;
  const askingMs = (queues?.connections.length ?? 0) * QUEUE_TIMEOUT_MS;
  const ask = { retryAt: now + askingMs + UNCALLED_MS, tries: 0 };
  if (queues === undefined) return { kind: "queued", call, body, ask };
  const { connections } = queues;
  const stay = { connections, since: now, attempt: 1, place: null, isBegun: false };
  return { kind: "queued", call, body, ask, stay };
}

/**
 * Tells whether a call must ask the queues for a place before it is sent: it has none, or its task was found to be
 * registered so late that the queue may have taken the place back.
 */
export function needsPlace({ isBegun, place, since }: CallStay, now: number): boolean {
  return place === null || !(isBegun || isCertainlyKept(since, now));
}

/**
 * Returns a waiting call whose task is registered. It is sent at once, unless it waits for a place or must ask for it
 * again.
 */
export function beginCall(queued: QueuedCall, now: number): QueuedCall {
  const { ask, stay } = queued;
  if (stay === undefined) return { ...queued, ask: { ...ask, retryAt: now } };
  const isLost = stay.place !== null && needsPlace(stay, now);
  const begun = { ...queued, stay: { ...(isLost ? askingAgain(stay) : stay), isBegun: true } };
  if (stay.place !== null) return { ...begun, ask: { retryAt: now, tries: 0 } };
  // A queue that could not be reached is asked again soon.
  return ask.tries > 0 ? { ...begun, ask: soonest(ask, now) } : watchQueues(begun, now);
}

/**
 * Returns the stay of a call that asks again for a place, because the queue may have taken back the one that it had. It
 * asks as another attempt, because orders to leave queues and news of places may still be under way for the present one.
 */
function askingAgain(stay: CallStay): CallStay {
  return { ...stay, place: null, attempt: stay.attempt + 1 };
}

/** Returns a plan that is due no later than after the first wait of a repetition. */
function soonest(ask: Retry, now: number): Retry {
  const { retryAt } = planRetry({ retryAt: now, tries: 0 }, now);
  return { ...ask, retryAt: Math.min(ask.retryAt, retryAt) };
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
  /** True when the call must leave the queues of all connections but this one. */
  readonly leavesOthers: boolean;
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
    return { next: null, place: null, leavesOthers: true };
  }
  const { stay } = state;
  const place = stay.place ?? (reply.kind === "granted" ? reply.connection : null);
  const isHeard = place !== null || (reply.kind === "waiting" && reply.isEverywhere);
  const ask = askAfter(state.ask, stay, place, isHeard, now);
  const next = { ...state, ask, stay: { ...stay, place } };
  return { next, place, leavesOthers: place !== null };
}

/**
 * Returns the plan of the next question after the queues have been asked.
 * @param place connection whose place the call uses now; null when it has none.
 * @param isHeard false when a queue has to be asked again, because it could not be reached or was full.
 */
function askAfter(
  ask: Retry,
  stay: CallStay,
  place: string | null,
  isHeard: boolean,
  now: number,
): Retry {
  // The Worker registers the task only from now on.
  if (!stay.isBegun) return { retryAt: now + UNCALLED_MS, tries: isHeard ? 0 : 1 };
  if (stay.place !== null) return ask;
  if (place !== null) return { retryAt: now, tries: 0 };
  return isHeard ? { retryAt: now + WATCH_MS, tries: 0 } : planRetry(ask, now);
}

/** Result of the news that a call has got a place: the answer for the queue, and the changed call if it has changed. */
interface Granted {
  readonly answer: GrantAnswer;
  readonly next: QueuedCall | null;
}

/** Returns the effect of the news that a call has got a place. A call that has one already, or is gone, needs no other. */
export function grantPlace(state: CallState | null, granted: GrantedPlace, now: number): Granted {
  const { connection, attempt } = granted;
  const used = placeUsedBy(state);
  if (used !== null) {
    const isSame = used.connection === connection && used.attempt === attempt;
    return { answer: isSame ? "taken" : "gone", next: null };
  }
  if (state?.kind !== "queued" || state.stay?.attempt !== attempt) {
    return { answer: "gone", next: null };
  }
  return { answer: "taken", next: withPlace(state, state.stay, connection, now) };
}

/** Returns the place that the present attempt of a call has got, or uses. Null when it has none. */
function placeUsedBy(state: CallState | null): GrantedPlace | null {
  if (state?.kind === "queued") return placeOf(state.stay);
  if (state?.kind === "sending") return state.start.place ?? null;
  return state?.kind === "kept" ? state.place : null;
}

function withPlace(queued: QueuedCall, stay: CallStay, place: string, now: number): QueuedCall {
  // Before its registration, the task would say that it does not know the call.
  const ask = stay.isBegun ? { retryAt: now, tries: 0 } : queued.ask;
  return { ...queued, ask, stay: { ...stay, place } };
}

/**
 * Returns a call whose task, or whose queue, is asked again later, because it could not be reached, or the queue was
 * full.
 */
export function askLater<T extends QueuedCall | KeptCall>(state: T, now: number): T {
  return { ...state, ask: planRetry(state.ask, now) };
}

/** Returns a waiting call whose task is asked again soon, because its price is being charged. */
export function askSoon(queued: QueuedCall, now: number): QueuedCall {
  return { ...queued, ask: { ...queued.ask, retryAt: now + CHARGING_MS } };
}

/** Returns a call that is sent from now on. */
export function beginSending(
  { call, body, stay }: QueuedCall,
  { customerKey, recordedAt }: SendOrder,
): SendingCall {
  const sending = { kind: "sending", call, body, uploads: [] } as const;
  const order = { customerKey, recordedAt };
  const place = placeOf(stay);
  if (stay === undefined || place === null) return { ...sending, start: order };
  const { connections, since } = stay;
  return { ...sending, start: { ...order, place }, wait: { connections, since } };
}

/** Returns the place that a waiting call has got. Null when it has none, or needs none. */
export function placeOf(stay: CallStay | undefined): GrantedPlace | null {
  if (stay === undefined || stay.place === null) return null;
  return { connection: stay.place, attempt: stay.attempt };
}

/**
 * Tells whether the outcome of an attempt permits another one, because the upstream has refused it for a reason that
 * concerns its account or its load and not the call, so that it has started nothing.
 */
export function mayBeSentAgain(outcome: SubmitOutcome): outcome is RefusedOutcome {
  return outcome.kind === "refused" && outcome.refusal !== "final";
}

/**
 * Returns a call after an attempt that has started nothing, if another may follow. Null when none may, because of the
 * outcome, or because the call was in no queue.
 */
export function refuseAttempt(
  { call, body, start, wait }: SendingCall,
  outcome: SubmitOutcome,
  now: number,
): RefusedCall | null {
  const { place, recordedAt } = start;
  if (wait === undefined || place === undefined || !mayBeSentAgain(outcome)) return null;
  const report = { retryAt: now, tries: 0 };
  return { kind: "refused", call, body, wait, place, recordedAt, outcome, report };
}

/**
 * Returns a call that waits for a place for another attempt, at the time at which it has waited since. Without a further
 * connection it has ended: one that has no money, or does not accept the key, is not asked again.
 */
export function nextAttempt(refused: RefusedCall, now: number): QueuedCall | EndedCall {
  const { call, body, wait, place, outcome, recordedAt } = refused;
  const isOut = isAboutAccount(outcome.refusal);
  const connections = wait.connections.filter((name) => !isOut || name !== place.connection);
  if (connections.length === 0) return endCall(call, recordedAt, { outcome, hasFiles: false }, now);
  const next = { ...wait, connections, attempt: place.attempt + 1, place: null, isBegun: true };
  // Another alarm makes the next attempt, so that each has the whole time of an alarm.
  return { kind: "queued", call, body, ask: { retryAt: now + 1, tries: 0 }, stay: next };
}

/** Returns a call that the upstream has accepted: it is kept if it may be submitted to another member of its pool. */
export function acceptCall(
  { call, body, start, wait }: SendingCall,
  end: CallEnd,
  now: number,
): EndedCall {
  const ended = endCall(call, start.recordedAt, end, now);
  const { place } = start;
  if (call.isKept !== true || wait === undefined || place === undefined) return ended;
  const kept = { call, body, wait: withoutPlace(wait, place), place };
  const further = kept.wait.connections;
  if (further.length === 0) return ended;
  return { ...ended, end: { ...ended.end, attempt: place.attempt, further }, kept };
}

/** Returns the wait of a call that can no longer get this place. */
function withoutPlace({ connections, since }: CallWait, { connection }: GrantedPlace): CallWait {
  return { connections: connections.filter((name) => name !== connection), since };
}

/** Returns a call whose job runs. Its task is asked soon for the first time, because the job may have ended meanwhile. */
export function keepCall(kept: Omit<KeptCall, "kind" | "ask">, now: number): KeptCall {
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
export function submitAgain({ call, body, wait, place }: KeptCall, now: number): QueuedCall {
  const stay = { ...wait, attempt: place.attempt + 1, place: null, isBegun: true };
  return { kind: "queued", call, body, ask: { retryAt: now + 1, tries: 0 }, stay };
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

/** Returns the end of a call whose waiting caller has been told of the task before. */
export function withTaskKnown(ended: EndedCall): EndedCall {
  return { ...ended, end: { ...ended.end, isTaskKnown: true } };
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

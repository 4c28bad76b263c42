import { retryable } from "cloudflare:durable-objects";
import { DurableObject } from "cloudflare:workers";
import { canKeepAnswers } from "../../config/output-config.ts";
import type { Runtime } from "../../config/runtime.ts";
import type { CallStart } from "../../core/events/call-start.ts";
import type { CallRefusalReply } from "../../core/events/call-refusal.ts";
import type { FollowUp } from "../../core/events/submit-again.ts";
import type {
  CallRefusedEvent,
  CallStartedEvent,
  SubmitEndedEvent,
} from "../../core/events/event.ts";
import { passedAnswerMs } from "../../core/record/submission.ts";
import { MAX_STORED_FILES } from "../../core/record/upstream.ts";
import { MINUTE_MS } from "../../core/time.ts";
import { errorText, log } from "../../lib/log.ts";
import { answerWithin, withDeadline } from "../../lib/timeout.ts";
import { toBase64Url } from "../../security/encoding.ts";
import type { LeftUpload } from "../output/copy-plan.ts";
import { outputKey } from "../output/output-key.ts";
import type { StoreWriter } from "../output/output-store.ts";
import { objectNamed } from "../placed-object.ts";
import {
  askForPlace,
  leaveOthers,
  leavePlace,
  type PlaceBindings,
  type PlaceRefusal,
  type PlaceReply,
  refusePlace,
} from "../queue/place-request.ts";
import type { GrantAnswer, GrantedPlace, HeldPlace } from "../queue/queue-row.ts";
import {
  acceptCall,
  applyPlaceReply,
  askLater,
  askNow,
  askSoon,
  beginCall,
  beginSending,
  type CallEnd,
  type CallState,
  type CallStay,
  callDueAt,
  deleteLater,
  endCall,
  type EndedCall,
  grantPlace,
  keepCall,
  type KeptCall,
  leaveFiles,
  mayBeSentAgain,
  needsPlace,
  nextAttempt,
  placeOf,
  type QueuedCall,
  queueCall,
  refuseAttempt,
  type RefusedCall,
  reportLater,
  type SendingCall,
  type SendOrder,
  type StoredCall,
  submitAgain,
  UNCALLED_MS,
  type UntakenFiles,
  watchJob,
  withLeftUpload,
  withTaskKnown,
} from "./call-plan.ts";
import { type FormField, FormReader } from "./form-reader.ts";
import { makeCall, NOT_SENT } from "./make-call.ts";
import { MAX_ARRIVAL_MS, receive, type ReceiptFault } from "./receive.ts";
import { reportRefusal, TASK_TIMEOUT_MS } from "./report-refusal.ts";
import { type BodySize, BodyWriter, deleteBody, NO_BODY, storedBody } from "./stored-body.ts";
import type { FileBucket } from "./stored-result.ts";
import { type PassedAnswer, WaitingCaller, type WholeAnswer } from "./waiting-caller.ts";

/**
 * The methods of a task's Durable Object that the object of its call calls. They are declared here, because importing
 * the class of tasks would make the two files import each other.
 */
interface CalledTask extends Rpc.DurableObjectBranded {
  startCall: (event: CallStartedEvent) => CallStart;
  refuseCall: (event: CallRefusedEvent) => CallRefusalReply;
  holdsPlace: (place: HeldPlace) => boolean;
  followUp: (submissionId: string, attempt: number) => FollowUp;
  /** Returns true when the task has taken the files that were in the answer. */
  endCall: (event: SubmitEndedEvent) => Promise<boolean>;
}

/** Bindings of the environment that the object of a call uses. */
export interface CallBindings extends PlaceBindings {
  /** Store of the files of answers. Absent when the relay keeps no outputs. */
  readonly OUTPUTS?: StoreWriter;
  readonly TASKS: DurableObjectNamespace<CalledTask>;
}

/** What has become of a form that a client has sent. */
export type FormReceipt =
  | {
      readonly kind: "stored";
      readonly fields: readonly FormField[];
      /** SHA-256 of the parts of the form, in base64url. It does not depend on the boundary between them. */
      readonly digest: string;
    }
  /** The form has not arrived whole. Nothing is stored. */
  | { readonly kind: ReceiptFault }
  /** `message` is the rest of a sentence that says what is wrong with the form. Nothing is stored. */
  | { readonly kind: "unreadable"; readonly message: string };

/** Result of ending the wait of a caller. */
export type StoppedWait =
  /** The caller gets this answer, because its outcome is being stored or is stored already. */
  | WholeAnswer
  /** The call goes on without its caller. */
  | { readonly kind: "going_on" }
  /** The call has not arrived, and will not be sent; or the instance that has made it has crashed. */
  | { readonly kind: "lost" };

/**
 * Result of storing a call: true when it is stored, false when its body has not arrived whole or is not there any more.
 * Another value is the answer of the queues by which the call may not even wait for a place; the Worker then drops it.
 */
export type CallReceipt = boolean | PlaceRefusal;

const KEY = "call";
/** Time in milliseconds in which the rest of an answer is read without its caller, who has read too slowly. */
const REST_MS = MINUTE_MS;

/**
 * Durable Object that makes the call of one submission whose client does not wait for the upstream's answer, or whose
 * answer is the result (binding `CALLS`). It is not the task's own object, so that reading a long answer never delays an
 * attempt of the callback.
 *
 * It stores the state of the call under one key of its storage (`call-plan.ts`), the body of the call in chunks, and an
 * alarm for the next step. It erases itself when the task has confirmed how the call has ended.
 *
 * Called by the Worker that gets the call. If the client does not wait, the object is named after the random id of the
 * submission: the Worker stores the call before the task is registered, and begins it afterwards. If the Worker fails in
 * between, the alarm finds out from the task what is to be done. The call is sent from an alarm, because the platform
 * keeps an object alive for an alarm alone. The object calls the task's object before the call is sent, and when it has
 * ended. If the client waits, the object has no name, and makes the call at once (`passOn`).
 *
 * If the jobs of the connection are limited, the call enters the queues (objects/queue) when it is stored, and is sent
 * when one of them has a place for it (`grant`).
 *
 * A call to a pool with `failures` is kept after the upstream has accepted it. If its job fails, the task lets the call ask
 * for a place at another member (`follow`); the task is also asked now and then, in case this was lost.
 *
 * The call is sent again only after a proof that it has started nothing, or that what it has started has failed: before it
 * is sent, the state `sending` is stored, and an alarm that finds this state reports that the outcome is unknown. A
 * refusal is stored before it is reported to the task and the queue, and only then the call asks for another place.
 * `passOn` stores no state before it sends, because each object without a name gets one such order in all.
 */
export class CallObject extends DurableObject<CallBindings> {
  /** The caller to whom this instance passes an answer on. Null when it makes no such call. */
  #caller: WaitingCaller | null = null;
  /** True when the caller has stopped waiting before the call has arrived here, so that it must not be sent any more. */
  #isGivenUp = false;

  static {
    // The platform may repeat these calls after a lost connection, because a repetition changes nothing. `grant` is not
    // in the list: only a queue that knows of the repetition keeps the place of a call that has ended meanwhile.
    for (const name of ["begin", "drop", "follow"] as const) retryable(this.prototype[name]);
  }

  /**
   * Stores the form (multipart/form-data) of a call while it arrives, and reads its texts.
   * @param boundary text that separates the parts of the form.
   */
  async storeForm(
    body: ReadableStream<Uint8Array>,
    boundary: string,
    maxBytes: number,
  ): Promise<FormReceipt> {
    const hash = new crypto.DigestStream("SHA-256");
    const digest = hash.getWriter();
    const writer = new BodyWriter(this.ctx.storage.kv);
    let hashed: Promise<void> = Promise.resolve();
    const form = new FormReader(boundary, (bytes) => {
      hashed = digest.write(bytes);
    });
    const fault = await receive(body, maxBytes, async (piece) => {
      await this.#storePiece(writer, piece);
      form.write(piece);
      await hashed;
    });
    await digest.close();
    const size = writer.end();
    const message = fault === null ? form.end() : null;
    if (fault !== null || message !== null) {
      await this.#erase();
      return fault === null ? { kind: "unreadable", message: message ?? "" } : { kind: fault };
    }
    this.#write({ kind: "receiving", body: size });
    await this.ctx.storage.setAlarm(Date.now() + UNCALLED_MS);
    return { kind: "stored", fields: form.fields, digest: toBase64Url(await hash.digest) };
  }

  /**
   * Stores a call, which is sent when `begin` was called, or when its task is found to be registered. If the jobs of its
   * connection are limited, it enters the queues.
   * @param body body of the call. Null when it is the form that was stored before.
   */
  async storeCall(call: StoredCall, body: ReadableStream<Uint8Array> | null): Promise<CallReceipt> {
    const size = body === null ? this.#storedForm() : await this.#store(body);
    if (size === null) return false;
    const queued = queueCall(call, size, Date.now());
    this.#write(queued);
    await this.ctx.storage.setAlarm(queued.ask.retryAt);
    if (queued.stay === undefined) return true;
    const reply = await this.#askQueues(call, queued.stay);
    const asked = this.#read();
    if (asked?.kind === "queued") await this.ctx.storage.setAlarm(asked.ask.retryAt);
    return reply !== null && "retryAfterMs" in reply ? reply : true;
  }

  /**
   * Begins the stored call at once, unless it has begun already.
   * @returns false when the call is not stored (any more): it has ended, or its object has found no task and has
   * forgotten it.
   */
  async begin(): Promise<boolean> {
    const state = this.#read();
    if (state === null || state.kind === "receiving") return false;
    const now = Date.now();
    if (state.kind === "queued" && state.ask.retryAt > now && state.stay?.isBegun !== true) {
      const begun = beginCall(state, now);
      this.#write(begun);
      await this.ctx.storage.setAlarm(Math.max(begun.ask.retryAt, now + 1));
    }
    return true;
  }

  /** Erases a call that was not sent, because its task was not registered. @returns always true. */
  async drop(): Promise<true> {
    const state = this.#read();
    if (state?.kind === "receiving") await this.#erase();
    if (state?.kind === "queued") await this.#forget(state);
    return true;
  }

  /** Takes a place for the call from the queue of a connection, unless the call needs none (any more). */
  async grant(place: GrantedPlace): Promise<GrantAnswer> {
    const { answer, next } = grantPlace(this.#read(), place, Date.now());
    if (next?.stay !== undefined) {
      this.#write(next);
      await this.ctx.storage.setAlarm(Math.max(next.ask.retryAt, Date.now() + 1));
      this.ctx.waitUntil(this.#leave(next.call, next.stay, place.connection));
    }
    return answer;
  }

  /** Lets a kept call ask its task at once what is to be done, because the task has changed. @returns always true. */
  async follow(): Promise<true> {
    const state = this.#read();
    if (state?.kind === "kept") {
      const now = Date.now();
      this.#write(askNow(state, now));
      await this.ctx.storage.setAlarm(now + 1);
    }
    return true;
  }

  /**
   * Makes the call of a submission whose caller waits, at once, and returns the answer. When the caller goes away, the
   * answer is still read to its end. Nothing is stored here before the answer has brought a file: after a crash the task
   * itself counts the outcome as unknown, once the time for the answer is over.
   * @param account account of the caller. Null when the caller is an operator.
   */
  async passOn(
    call: StoredCall,
    start: SendOrder,
    body: ReadableStream<Uint8Array>,
    account: string | null,
  ): Promise<PassedAnswer> {
    const { runtime } = this.env.startup;
    if (!runtime.ok) throw new Error("the configuration is not valid");
    if (this.#isGivenUp) throw new Error("the caller has given the call up");
    const sending: SendingCall = { kind: "sending", call, body: NO_BODY, start, uploads: [] };
    const readsUntil = Date.now() + passedAnswerMs(runtime.value.config) - REST_MS;
    const caller = new WaitingCaller(account, readsUntil);
    this.#caller = caller;
    // The platform keeps the object alive for this also when the caller has gone
    // (https://developers.cloudflare.com/changelog/post/2026-10-01-pending-io-keep-alive/).
    this.ctx.waitUntil(this.#pass(sending, body, caller, runtime.value));
    return caller.passed;
  }

  /**
   * Ends the wait of the caller of `passOn`, who is told of the task instead. From then on a refusal fails the task, and
   * no other attempt follows.
   */
  async stopWaiting(): Promise<StoppedWait> {
    if (this.#caller === null) {
      this.#isGivenUp = true;
      return { kind: "lost" };
    }
    return (await this.#caller.stopWaiting()) ?? { kind: "going_on" };
  }

  /**
   * Does what is due: asks the task, sends the call, reports its end. When the work fails, another alarm follows after a
   * minute.
   */
  override async alarm(): Promise<void> {
    const { runtime } = this.env.startup;
    try {
      if (!runtime.ok) throw new Error("the configuration is not valid");
      await this.#work(runtime.value);
    } catch (error) {
      this.#logFailure(error);
      await this.ctx.storage.setAlarm(Date.now() + MINUTE_MS);
    }
  }

  #logFailure(error: unknown): void {
    const name = this.ctx.id.name ?? null;
    log({ event: "call.failed", object: name, error: errorText(error) }, "error");
  }

  async #work(runtime: Runtime): Promise<void> {
    for (let state = this.#read(); state !== null; state = this.#read()) {
      const dueAt = callDueAt(state) ?? 0;
      if (dueAt > Date.now()) return this.ctx.storage.setAlarm(dueAt);
      await this.#step(state, runtime);
    }
  }

  async #step(state: CallState, runtime: Runtime): Promise<void> {
    switch (state.kind) {
      case "receiving":
        // The Worker has failed before it has stored the call.
        return this.#erase();
      case "queued":
        return state.stay !== undefined && needsPlace(state.stay, Date.now())
          ? this.#askForPlace(state, state.stay)
          : this.#ask(state, runtime);
      case "sending":
        // An earlier alarm was interrupted, perhaps after the call was sent.
        return this.#giveUp(state);
      case "refused":
        return this.#reportRefused(state);
      case "kept":
        return this.#followUp(state);
      case "ended":
        return this.#report(state);
      case "untaken":
        return this.#deleteFiles(state);
    }
  }

  /** Asks the queues again for a place, if the task still needs one. */
  async #askForPlace(queued: QueuedCall, stay: CallStay): Promise<void> {
    const { taskId, submissionId } = queued.call;
    const [connection = ""] = stay.connections;
    const ask = async () => this.#task(taskId).holdsPlace({ submissionId, connection });
    const isNeeded = await this.#answered<boolean>(taskId, ask);
    const state = this.#read();
    const now = Date.now();
    // A place may have come meanwhile, and the Worker may have dropped the call.
    if (state?.kind !== "queued" || state.stay === undefined) return;
    if (!needsPlace(state.stay, now)) return;
    if (isNeeded === null) return this.#write(askLater(state, now));
    if (!isNeeded) return this.#forget(state);
    // If this instance ends before a queue has answered, the queues are asked again soon.
    const begun = askLater(beginCall(state, now), now);
    this.#write(begun);
    if (begun.stay !== undefined) await this.#askQueues(begun.call, begun.stay);
  }

  /**
   * Asks the queues for a place, and stores the answer. A place that the call does not need is given back.
   * @returns the answer. Null when the call has got a place meanwhile.
   */
  async #askQueues(call: StoredCall, stay: CallStay): Promise<PlaceReply | null> {
    const { submissionId, taskId, connection: via, queues } = call;
    const { connections, since, attempt } = stay;
    const account = queues?.account ?? null;
    const order = { submissionId, taskId, account, via, attempt, since };
    const reply = await askForPlace(this.env, connections, order);
    const { next, place, leavesOthers } = applyPlaceReply(this.#read(), attempt, reply, Date.now());
    if (next !== null) this.#write(next);
    if (leavesOthers) await leaveOthers(this.env, connections, place, order);
    return place === null ? reply : null;
  }

  /** Leaves all queues but that of the connection whose place the call uses; null for all. */
  async #leave(
    { submissionId }: StoredCall,
    { connections, attempt }: CallStay,
    kept: string | null,
  ): Promise<void> {
    await leaveOthers(this.env, connections, kept, { submissionId, attempt });
  }

  /** Erases a call that is never sent, and gives its place back. */
  async #forget({ call, stay }: QueuedCall): Promise<void> {
    await this.#erase();
    if (stay !== undefined) await this.#leave(call, stay, null);
  }

  /** Asks the task whether the call is to be sent, and then sends it. */
  async #ask({ call, stay }: QueuedCall, runtime: Runtime): Promise<void> {
    const { taskId, submissionId } = call;
    const event: CallStartedEvent = { type: "call_started", submissionId, ...placeOf(stay) };
    const ask = async () => this.#task(taskId).startCall(event);
    const start = await this.#answered<CallStart>(taskId, ask);
    const queued = this.#read();
    // The Worker may have dropped the call meanwhile.
    if (queued?.kind !== "queued") return;
    if (start === null) return this.#write(askLater(queued, Date.now()));
    switch (start.kind) {
      case "wait":
        return this.#write(askSoon(queued, Date.now()));
      case "gone":
        return this.#forget(queued);
      case "send":
        return this.#send(beginSending(queued, start), start.endsAt, runtime);
    }
  }

  /** @param endsAt time at which the task counts the outcome as unknown, in Unix milliseconds. */
  async #send(sending: SendingCall, endsAt: number, runtime: Runtime): Promise<void> {
    const { asyncTimeoutMs } = runtime.config;
    // The task may have ordered the call long ago, if its answers were lost.
    const leftMs = endsAt - TASK_TIMEOUT_MS - Date.now();
    if (leftMs <= 0) return this.#end(sending, NOT_SENT);
    // The platform holds the request back until this is stored.
    this.#write(sending);
    const { kv } = this.ctx.storage;
    const end = await withDeadline(Math.min(asyncTimeoutMs, leftMs), (signal) =>
      makeCall(sending, {
        runtime,
        body: () => storedBody(kv, sending.body),
        signal,
        bucket: this.env.OUTPUTS ?? null,
        onUpload: (upload) => this.#noteUpload(upload),
        caller: null,
      }),
    );
    const refused = refuseAttempt(sending, end.outcome, Date.now());
    if (refused === null) this.#end(sending, end);
    else this.#write(refused);
  }

  /** Tells the task and the queue that an attempt was refused, until both know it; then the call waits again, or ends. */
  async #reportRefused(refused: RefusedCall): Promise<void> {
    const { call, place, outcome } = refused;
    const { reply, isPlaceFree } = await reportRefusal(this.env, call, place, outcome);
    if (reply === null || !isPlaceFree) return this.#write(reportLater(refused, Date.now()));
    if (reply === "gone") return this.#erase();
    const next = nextAttempt(refused, Date.now());
    if (next.kind === "ended") deleteBody(this.ctx.storage.kv, refused.body);
    this.#write(next);
  }

  /**
   * Asks the task of a kept call whether its job has failed, and then lets the call ask for a place at another member. It
   * first gives back the place of the failed job, until the queue has confirmed this.
   */
  async #followUp(kept: KeptCall): Promise<void> {
    const { taskId, submissionId } = kept.call;
    const { place } = kept;
    const ask = async () => this.#task(taskId).followUp(submissionId, place.attempt);
    const reply = await this.#answered<FollowUp>(taskId, ask);
    if (reply === null) return this.#write(askLater(kept, Date.now()));
    switch (reply.kind) {
      case "keep":
        return this.#write(watchJob(kept, Date.now()));
      case "gone":
        return this.#erase();
      case "again": {
        const { refusal } = reply;
        const isFree =
          refusal === null
            ? await leavePlace(this.env, submissionId, place)
            : await refusePlace(this.env, submissionId, place, { refusal });
        const now = Date.now();
        return this.#write(isFree ? submitAgain(kept, now) : askLater(kept, now));
      }
    }
  }

  async #pass(
    sending: SendingCall,
    body: ReadableStream<Uint8Array>,
    caller: WaitingCaller,
    runtime: Runtime,
  ): Promise<void> {
    const { config } = runtime;
    const bucket = canKeepAnswers(config) ? (this.env.OUTPUTS ?? null) : null;
    const answerMs = passedAnswerMs(config);
    let isNoted = false;
    const note = async () => {
      if (isNoted) return;
      isNoted = true;
      await this.#noteFiles(sending, Date.now() + answerMs);
    };
    const end = await withDeadline(answerMs, (signal) =>
      makeCall(sending, {
        runtime,
        body: () => body,
        signal,
        bucket: bucket && notedBucket(bucket, note),
        onUpload: (upload) => this.#noteUpload(upload),
        caller,
      }),
    );
    const isStored = await this.#settlePassed(
      sending,
      { ...end, hasFiles: isNoted },
      caller,
      runtime,
    );
    await caller.end(end.outcome, isStored);
  }

  /**
   * Reports the end of a call whose caller waits. Of an attempt that may be followed by another, only the refusal is
   * reported, and the Worker goes on. None follows when the caller knows of the task already, or when files of the answer
   * are stored.
   * @returns false when the task could not be reached yet.
   */
  async #settlePassed(
    { call, start: { place, recordedAt } }: SendingCall,
    end: CallEnd,
    caller: WaitingCaller,
    runtime: Runtime,
  ): Promise<boolean> {
    const { outcome, hasFiles } = end;
    const isTaskKnown = !caller.takeAnswer();
    try {
      if (place !== undefined && mayBeSentAgain(outcome) && !hasFiles) {
        if (!isTaskKnown) {
          const { reply, isPlaceFree } = await reportRefusal(this.env, call, place, outcome);
          return reply !== null && isPlaceFree;
        }
        await refusePlace(this.env, call.submissionId, place, outcome);
      }
      const ended = endCall(call, recordedAt, end, Date.now());
      return await this.#settle(isTaskKnown ? withTaskKnown(ended) : ended, runtime);
    } catch (error) {
      this.#logFailure(error);
      return false;
    }
  }

  /** Stores what the alarm needs to delete the files of an answer, if the object crashes before it ends the call. */
  async #noteFiles(state: SendingCall, endsAt: number): Promise<void> {
    this.#write(state);
    await this.ctx.storage.setAlarm(endsAt);
  }

  /** Reports the end of a call that was passed on. @returns false when the task could not be reached yet. */
  async #settle(ended: EndedCall, runtime: Runtime): Promise<boolean> {
    const next = await this.#reported(ended);
    if (next !== null) {
      this.#write(next);
      await this.#work(runtime);
    } else if (ended.hasFiles) await this.#erase();
    return next?.kind !== "ended";
  }

  #noteUpload(upload: LeftUpload): void {
    const state = this.#read();
    if (state?.kind === "sending") this.#write(withLeftUpload(state, upload));
  }

  /** Ends a call of which it is not known whether it was sent. Nothing of its answer is kept. */
  async #giveUp(sending: SendingCall): Promise<void> {
    for (const { number, uploadId } of sending.uploads) {
      const key = outputKey({ taskId: sending.call.taskId, ...sending.start }, number);
      const upload = this.env.OUTPUTS?.resumeMultipartUpload(key, uploadId);
      await upload?.abort().catch((error: unknown) => {
        const line = { task_id: sending.call.taskId, number, error: errorText(error) };
        log({ event: "outputs.upload_left", ...line }, "warn");
      });
    }
    const outcome = { kind: "unknown", statusCode: null } as const;
    const hasFiles = sending.call.storesFiles && this.env.OUTPUTS !== undefined;
    this.#end(sending, { outcome, hasFiles });
  }

  #end(sending: SendingCall, end: CallEnd): void {
    const now = Date.now();
    const ended =
      end.outcome.kind === "accepted"
        ? acceptCall(sending, end, now)
        : endCall(sending.call, sending.start.recordedAt, end, now);
    if (ended.kept === undefined) deleteBody(this.ctx.storage.kv, sending.body);
    this.#write(ended);
  }

  async #report(ended: EndedCall): Promise<void> {
    const next = await this.#reported(ended);
    if (next !== null) this.#write(next);
    else if (ended.kept === undefined) await this.#erase();
    else this.#write(keepCall(ended.kept, Date.now()));
  }

  /**
   * Reports to the task how its call has ended, until the task has confirmed it.
   * @returns the state of the call after it. Null when nothing is left to be done.
   */
  async #reported(ended: EndedCall): Promise<CallState | null> {
    const { taskId, end, hasFiles } = ended;
    const report = async () => this.#task(taskId).endCall(end);
    const areTaken = await this.#answered<boolean>(taskId, report);
    if (areTaken === null) return reportLater(ended, Date.now());
    return areTaken || !hasFiles ? null : leaveFiles(ended, Date.now());
  }

  /** Deletes the files of an answer that its task has not taken. */
  async #deleteFiles(untaken: UntakenFiles): Promise<void> {
    const numbers = Array.from({ length: MAX_STORED_FILES + 1 }, (_, number) => number);
    const keys = numbers.map((number) => outputKey(untaken, number));
    try {
      await this.env.OUTPUTS?.delete(keys);
    } catch (error) {
      log(
        { event: "outputs.not_deleted", task_id: untaken.taskId, detail: errorText(error) },
        "error",
      );
      return this.#write(deleteLater(untaken, Date.now()));
    }
    await this.#erase();
  }

  /** Calls the task's object. Returns null when it cannot be reached. */
  #answered<T>(taskId: string, call: () => Promise<T>): Promise<T | null> {
    return answerWithin(TASK_TIMEOUT_MS, { event: "call.unreached", task_id: taskId }, call);
  }

  #task(taskId: string) {
    return objectNamed(this.env.TASKS, taskId, this.env);
  }

  #storedForm(): BodySize | null {
    const state = this.#read();
    return state?.kind === "receiving" ? state.body : null;
  }

  /** Takes a piece of a body. What is stored of it is erased if the Worker fails before it has stored the call. */
  async #storePiece(writer: BodyWriter, piece: Uint8Array): Promise<void> {
    const isEmpty = writer.chunks === 0;
    writer.write(piece);
    if (!isEmpty || writer.chunks === 0) return;
    this.#write({ kind: "receiving", body: null });
    await this.ctx.storage.setAlarm(Date.now() + MAX_ARRIVAL_MS + UNCALLED_MS);
  }

  async #store(body: ReadableStream<Uint8Array>): Promise<BodySize | null> {
    const writer = new BodyWriter(this.ctx.storage.kv);
    const fault = await receive(body, Infinity, (piece) => this.#storePiece(writer, piece));
    const size = writer.end();
    if (fault === null) return size;
    await this.#erase();
    return null;
  }

  async #erase(): Promise<void> {
    await this.ctx.storage.deleteAlarm();
    await this.ctx.storage.deleteAll();
  }

  #read(): CallState | null {
    return this.ctx.storage.kv.get<CallState>(KEY) ?? null;
  }

  #write(state: CallState): void {
    this.ctx.storage.kv.put(KEY, state);
  }
}

/** Returns a bucket that calls `note` before it stores anything. */
function notedBucket(bucket: FileBucket, note: () => Promise<void>): FileBucket {
  return {
    put: async (...file) => {
      await note();
      return bucket.put(...file);
    },
    createMultipartUpload: async (...file) => {
      await note();
      return bucket.createMultipartUpload(...file);
    },
    delete: (keys) => bucket.delete(keys),
  };
}

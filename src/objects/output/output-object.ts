import { retryable } from "cloudflare:durable-objects";
import { DurableObject } from "cloudflare:workers";
import type { Runtime, WithStartup } from "../../config/runtime.ts";
import type { CopyOrder, KeptOutputs } from "../../core/duties/copy-order.ts";
import type { CopiesEndedEvent } from "../../core/events/event.ts";
import type { LossReason } from "../../core/record/outputs.ts";
import { MINUTE_MS, SECOND_MS } from "../../core/time.ts";
import { hostOf } from "../../core/url.ts";
import { errorText, log, logAs } from "../../lib/log.ts";
import { logOnceAMinute } from "../../lib/log-once.ts";
import type { BudgetPart } from "../../lib/shared-budget.ts";
import { type OpenedSource, openSource, statedBytes } from "../../outbound/open-source.ts";
import { answerWithin } from "../../lib/timeout.ts";
import { inlinePointer } from "../../providers/inline-output.ts";
import { objectNamed } from "../placed-object.ts";
import { setRecoveryAlarm } from "../recovery.ts";
import {
  beginCopies,
  type Copies,
  deletedAgain,
  type DeletedCopies,
  dueDeletions,
  type DueCopy,
  endReport,
  endTry,
  leftUploads,
  type LeftUpload,
  nextCopy,
  nextDeletionAt,
  noteAfterDeletion,
  noteErasure,
  startTry,
  type StoredCopies,
  type TryResult,
  unreported,
  wakeAt,
  withoutCopies,
  withoutTry,
  withoutUploads,
  withUpload,
} from "./copy-plan.ts";
import { CopySlots, STATED_UNITS, UNSTATED_UNITS } from "./copy-slots.ts";
import { linkLifeMs, sourceOf } from "./copy-source.ts";
import { measureCopy } from "./measure-copy.ts";
import { outputKey } from "./output-key.ts";
import type { StoreWriter } from "./output-store.ts";
import { storeCopy } from "./store-copy.ts";

/**
 * The method of a task's Durable Object that the object which copies its outputs calls. It is declared here, because
 * importing the class of tasks would make the two files import each other.
 */
interface CopiedTask extends Rpc.DurableObjectBranded {
  /** Records which copies have ended. Returns false when the task does not exist any more. */
  endCopies: (event: CopiesEndedEvent) => boolean;
}

/** Bindings of the environment that the object which copies a task's outputs uses. */
export interface OutputBindings extends WithStartup {
  /** Store of the copies. Absent when the relay makes no copies of outputs. */
  readonly OUTPUTS?: StoreWriter;
  readonly METRICS?: AnalyticsEngineDataset;
  readonly TASKS: DurableObjectNamespace<CopiedTask>;
}

/** Time limits for copying an output, in milliseconds. */
export interface CopyTimeouts {
  /** Longest time for which the download of an output may make no progress. */
  readonly stallMs: number;
  /** Longest time of one try to copy an output. The platform ends an alarm after 15 minutes. */
  readonly tryMs: number;
}

const TIMEOUTS: CopyTimeouts = { stallMs: 30 * SECOND_MS, tryMs: 12 * MINUTE_MS };
const KEY = "copies";
/** Permissions to copy outputs that the objects of this isolate share. */
const slots = new CopySlots();
/**
 * Time in milliseconds after the start of an alarm from which no further copy is started, because the platform ends an
 * alarm after 15 minutes.
 */
const ALARM_MS = 2 * MINUTE_MS;
const REPORT_MS = 2 * SECOND_MS;

/**
 * Durable Object that copies the outputs of one task into the bucket, and deletes the copies when their time is over.
 * It is named after the task and the creation of the task's record (binding `OUTPUT_OBJECTS`). It is not the task's own
 * object, so that a download never delays an attempt of the callback.
 *
 * It stores the links, the state of each copy, the id of the multipart upload that is under way, and the customer's
 * encrypted key, all under one key of its storage; and an alarm for the next try, the next report or the end of the
 * copies. It erases itself when the copies have expired, and a day after its task was erased. Copies that a try may have
 * stored after their deletion are deleted once more after 15 minutes.
 *
 * Called by the task's object (`objects/task`): once when the task has completed, again after a minute if not all
 * copies have ended by then (core/duties/copy-order.ts), when outputs are deleted, and before the task is erased. It
 * calls the task's object when copies have ended (core/events/output-copies.ts).
 *
 * Its parts: copy-plan.ts plans the tries, copy-slots.ts permits them, copy-source.ts knows the upstream's link and
 * key, outbound/open-source.ts downloads, and store-copy.ts writes to the bucket.
 */
export class OutputObject extends DurableObject<OutputBindings> {
  static {
    // The platform may repeat these calls after a lost connection, because a repetition changes nothing.
    for (const name of ["copy", "delete"] as const) retryable(this.prototype[name]);
  }

  readonly #timeouts: CopyTimeouts;
  readonly #jitter = Math.random();
  /** Controller by which the present try to copy an output can be ended. Null when there is no such try. */
  #stop: AbortController | null = null;
  /** Number of the output that is being copied. Null when no output is. */
  #tried: number | null = null;
  /** Numbers of outputs whose upstream was asked and does not state their length. */
  readonly #unstated = new Set<number>();
  /**
   * Promise that resolves when the present try to copy an output has ended. It is resolved already when there is no
   * such try.
   */
  #trying: Promise<void> = Promise.resolve();

  constructor(ctx: DurableObjectState, env: OutputBindings, timeouts: Partial<CopyTimeouts> = {}) {
    super(ctx, env);
    this.#timeouts = { ...TIMEOUTS, ...timeouts };
  }

  /**
   * Starts copying the outputs of a task at once, and deletes the copies of those that the order names as deleted. What
   * was ordered before changes nothing.
   * @returns always true. A caller that gets it knows that the order is stored, and that the copies are deleted.
   * @throws when the bucket does not delete a copy; the call must then be repeated.
   */
  async copy(order: CopyOrder): Promise<true> {
    const now = Date.now();
    if (this.#read() === null) {
      this.#write(beginCopies(order, now));
      await this.ctx.storage.setAlarm(now + 1);
    } else if ((await this.ctx.storage.getAlarm()) === null && this.#stop === null) {
      await this.ctx.storage.setAlarm(now + 1);
    }
    if (order.deleted.length > 0) await this.#deleteSome(order);
    return true;
  }

  /**
   * Stops copying the outputs of the task, and deletes the copies that exist.
   * @throws when the bucket does not delete them; the call must then be repeated.
   */
  async delete(outputs: KeptOutputs): Promise<void> {
    const now = Date.now();
    const deleted = noteErasure(this.#read(), outputs, now);
    const { uploads } = deleted;
    this.#write(deleted);
    await this.ctx.storage.setAlarm(nextDeletionAt(deleted));
    this.#stop?.abort();
    await this.#trying;
    await this.#abortUploads(outputs, uploads);
    await this.#deleteCopies(outputs);
    if (uploads.length > 0) this.#write({ ...deleted, uploads: [] });
    if (outputs.expiresAt <= now) await this.ctx.storage.deleteAll();
  }

  /** Stops copying deleted outputs, and deletes their copies. The copies of the other outputs are not affected. */
  async #deleteSome(order: CopyOrder): Promise<void> {
    const { deleted } = order;
    const known = this.#read();
    const uploads = known === null ? [] : leftUploads(known);
    const own = uploads.filter(({ number }) => deleted.includes(number));
    this.#change((copies) => withoutCopies(copies, deleted, Date.now()));
    if (this.#tried !== null && deleted.includes(this.#tried)) {
      this.#stop?.abort();
      await this.#trying;
    }
    await this.#abortUploads(order, own);
    await this.#deleteCopies({ ...order, outputs: deleted.map((number) => ({ number })) });
    if (own.length > 0) this.#change((copies) => withoutUploads(copies, deleted));
  }

  /** Deletes once more the copies that a try may have stored after their deletion. */
  async #deleteAgain(copies: Copies, numbers: readonly number[]): Promise<void> {
    await this.#deleteCopies({ ...copies, outputs: numbers.map((number) => ({ number })) });
    this.#change((known) => deletedAgain(known, numbers));
  }

  /**
   * Makes the copies that are due, and reports to the task's object which copies have ended. The method returns only
   * after all due copies, so that the platform repeats the alarm after a crash. When the work fails, another alarm
   * follows after a minute, and after longer waits while it goes on failing: the cause may be that of many objects, and
   * may last for days.
   */
  override async alarm(): Promise<void> {
    const { runtime } = this.env.startup;
    try {
      if (!runtime.ok) throw new Error("the configuration is not valid");
      await this.#work(runtime.value);
    } catch (error) {
      const name = this.ctx.id.name ?? null;
      const line = { event: "outputs.failed", object: name, error: errorText(error) };
      logOnceAMinute(line.event, line, "error");
      await setRecoveryAlarm(this.ctx.storage, Date.now(), this.#jitter);
    }
  }

  async #work(runtime: Runtime): Promise<void> {
    const until = Date.now() + ALARM_MS;
    let slotWaitMs = 0;
    for (;;) {
      const now = Date.now();
      const copies = this.#read();
      if (copies === null) return;
      if (copies.kind === "deleted") return this.#forget(copies, now);
      if (copies.expiresAt <= now) return this.#expire(copies);
      const again = dueDeletions(copies, now);
      if (again.length > 0) {
        await this.#deleteAgain(copies, again);
        continue;
      }
      const copy = now < until ? nextCopy(copies, now) : null;
      if (copy === null) break;
      const taken = slots.take(this.#claimOf(copies, copy), Math.random());
      if (taken.slot === null) {
        slotWaitMs = taken.waitMs;
        break;
      }
      await this.#try(copies, copy, taken.slot, runtime);
    }
    await this.#report();
    const copies = this.#read();
    if (copies?.kind !== "copies") return;
    await this.ctx.storage.setAlarm(Math.max(wakeAt(copies), Date.now() + 1 + slotWaitMs));
  }

  #claimOf({ account }: Copies, { number, source }: DueCopy) {
    // The answer that contains an output as base64 is held in memory as a whole.
    const url = URL.parse(source);
    const isInline = url !== null && inlinePointer(url) !== null;
    return {
      name: this.ctx.id.toString(),
      host: hostOf(source),
      account,
      units: isInline || this.#unstated.has(number) ? UNSTATED_UNITS : STATED_UNITS,
    };
  }

  /**
   * Makes one try to copy an output, and stores its result. When it turns out that the upstream does not state the
   * length of the output, and memory for it is lacking, the try is put off: the next one asks for the memory before it
   * asks the upstream.
   */
  async #try(copies: Copies, copy: DueCopy, slot: BudgetPart, runtime: Runtime): Promise<void> {
    const startedAt = Date.now();
    const { number, state } = copy;
    this.#write(startTry(copies, number, startedAt, this.#jitter));
    const stop = new AbortController();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#stop = stop;
    this.#tried = number;
    this.#trying = promise;
    try {
      if (state.uploadId !== null) await this.#abortUpload(copies, number, state.uploadId);
      const result = await this.#copied(copies, copy, slot, stop, runtime);
      if (result === "put_off") return this.#change((known) => withoutTry(known, copy));
      const now = Date.now();
      const sourceEndsAt = copies.orderedAt + linkLifeMs(copies.connection, runtime);
      this.#change((known) => endTry(known, number, result, sourceEndsAt, now));
      logTry(copies, copy, result, now - startedAt, runtime);
      this.#measure(copies, copy, result, now - startedAt);
    } finally {
      slot.giveBack();
      this.#stop = null;
      this.#tried = null;
      resolve();
    }
  }

  #measure({ connection }: Copies, copy: DueCopy, result: TryResult, durationMs: number): void {
    const isKept = result.kind === "kept";
    measureCopy(this.env.METRICS, {
      source: copy.source,
      connection,
      number: copy.state.tries + 1,
      durationMs,
      outcome: isKept ? result.kind : result.reason,
      bytes: isKept ? result.bytes : 0,
    });
  }

  /**
   * Fetches an output from the upstream and stores it in the bucket. A download that makes no progress, or takes too
   * long, is ended.
   * @returns the result of the try; `put_off` when it needs more memory than there is at present.
   */
  async #copied(
    copies: Copies,
    copy: DueCopy,
    slot: BudgetPart,
    stop: AbortController,
    runtime: Runtime,
  ): Promise<TryResult | "put_off"> {
    const { OUTPUTS: bucket } = this.env;
    const { number } = copy;
    if (bucket === undefined) return { kind: "failed", reason: "not_stored", isFinal: false };
    const startedAt = Date.now();
    let progressAt = startedAt;
    let units = this.#claimOf(copies, copy).units;
    const { stallMs, tryMs } = this.#timeouts;
    const timer = setInterval(() => {
      const now = Date.now();
      if (now - progressAt >= stallMs || now - startedAt >= tryMs) stop.abort();
      else slot.resize(units);
    }, stallMs / 6);
    try {
      const source = await sourceOf(copies, copy.source, runtime);
      const opened = await openSource(source, {}, stop.signal);
      if (opened.kind === "blocked") return { kind: "failed", reason: "blocked", isFinal: true };
      if (opened.kind !== "opened")
        return { kind: "failed", reason: lossOf(opened), isFinal: false };
      const { response } = opened;
      if (response.body === null) return { kind: "failed", reason: "empty", isFinal: false };
      const bytes = statedBytes(response);
      if (bytes === null) {
        this.#unstated.add(number);
        units = UNSTATED_UNITS;
        if (slot.resize(units) !== null) {
          stop.abort();
          return "put_off";
        }
      }
      return await storeCopy(response.body, bytes, {
        bucket,
        key: outputKey(copies, number),
        maxBytes: runtime.config.maxOutputBytes,
        onUpload: (uploadId) => this.#change((known) => withUpload(known, number, uploadId)),
        onProgress: () => {
          progressAt = Date.now();
        },
        signal: stop.signal,
      });
    } finally {
      clearInterval(timer);
    }
  }

  /**
   * Reports to the task's object which copies have ended. If that object does not accept the report, it is repeated
   * later.
   */
  async #report(): Promise<void> {
    const copies = this.#read();
    if (copies?.kind !== "copies" || copies.report === null) return;
    if (copies.report.retryAt > Date.now()) return;
    const { taskId, recordedAt } = copies;
    const ended = unreported(copies);
    const task = objectNamed(this.env.TASKS, taskId, this.env);
    const call = async () => task.endCopies({ type: "copies_ended", recordedAt, ended });
    const line = { event: "outputs.not_reported", task_id: taskId };
    const isKnown = await answerWithin<boolean>(REPORT_MS, line, call);
    if (isKnown === false) return this.#abandon(copies);
    this.#change((known) => endReport(known, ended, isKnown === true, Date.now()));
  }

  /** Deletes the copies of a task that does not exist any more. */
  async #abandon({ taskId, recordedAt, expiresAt, list: outputs }: Copies): Promise<void> {
    await this.delete({ taskId, recordedAt, expiresAt, outputs });
  }

  /**
   * When the copies of the task's outputs have expired, deletes them and then everything else that this object stores.
   */
  async #expire(copies: Copies): Promise<void> {
    await this.#abortUploads(copies, leftUploads(copies));
    await this.#deleteCopies({ ...copies, outputs: copies.list });
    await this.ctx.storage.deleteAll();
  }

  /**
   * Deletes the copies of an erased task once more when it is time; when the time for which the erasure is remembered is
   * over, also everything that this object stores.
   */
  async #forget(deleted: DeletedCopies, now: number): Promise<void> {
    if (now < nextDeletionAt(deleted)) return this.ctx.storage.setAlarm(nextDeletionAt(deleted));
    await this.#abortUploads(deleted, leftUploads(deleted));
    await this.#deleteCopies(deleted);
    const note = noteAfterDeletion(deleted, now);
    if (note === null) return this.ctx.storage.deleteAll();
    this.#write(note);
    await this.ctx.storage.setAlarm(note.forgetAt);
  }

  async #deleteCopies(outputs: KeptOutputs): Promise<void> {
    const { OUTPUTS: bucket } = this.env;
    if (bucket === undefined) {
      log({ event: "outputs.not_deleted", task_id: outputs.taskId, detail: NO_BUCKET }, "error");
      return;
    }
    await bucket.delete(outputs.outputs.map(({ number }) => outputKey(outputs, number)));
  }

  async #abortUploads(
    outputs: Pick<KeptOutputs, "taskId" | "recordedAt">,
    uploads: readonly LeftUpload[],
  ): Promise<void> {
    for (const { number, uploadId } of uploads) await this.#abortUpload(outputs, number, uploadId);
  }

  /**
   * Aborts the unfinished multipart upload of an earlier try. A failure, e.g. because the upload has ended already, is
   * only logged.
   */
  async #abortUpload(
    copies: Pick<Copies, "taskId" | "recordedAt">,
    number: number,
    uploadId: string,
  ): Promise<void> {
    const upload = this.env.OUTPUTS?.resumeMultipartUpload(outputKey(copies, number), uploadId);
    await upload?.abort().catch((error: unknown) => {
      const line = { task_id: copies.taskId, number, error: errorText(error) };
      log({ event: "outputs.upload_left", ...line }, "warn");
    });
  }

  #read(): StoredCopies | null {
    return this.ctx.storage.kv.get<StoredCopies>(KEY) ?? null;
  }

  #write(copies: StoredCopies): void {
    this.ctx.storage.kv.put(KEY, copies);
  }

  /** Applies a change to the stored copies of the task's outputs. Does nothing when the task was erased. */
  #change(change: (copies: Copies) => Copies): void {
    const known = this.#read();
    if (known?.kind === "copies") this.#write(change(known));
  }
}

/** Returns why a try to copy an output has failed: the reason that belongs to what came instead of the output. */
function lossOf({ kind }: Exclude<OpenedSource, { readonly kind: "opened" }>): LossReason {
  return kind === "not_ready" ? "unreachable" : kind;
}

const NO_BUCKET = "the relay has no bucket for outputs any more";

function logTry(
  { taskId }: Copies,
  { number, source, state }: DueCopy,
  result: TryResult,
  durationMs: number,
  { config }: Runtime,
): void {
  const isKept = result.kind === "kept";
  const end = isKept
    ? { bytes: result.bytes, content_type: result.mediaType }
    : { reason: result.reason, final: result.isFinal };
  const line = () => ({
    event: "output.copy",
    task_id: taskId,
    number,
    host: hostOf(source),
    try: state.tries + 1,
    outcome: isKept ? "kept" : "failed",
    ...end,
    duration_ms: durationMs,
  });
  logAs(isKept ? "detail" : "warn", line, config);
}

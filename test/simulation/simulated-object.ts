import type { CopyOrder, KeptOutputs } from "../../src/core/duties/copy-order.ts";
import type { ProgressCallback } from "../../src/core/events/progress-callback.ts";
import type { Policy } from "../../src/core/policy.ts";
import { isOpen, type TaskRecord } from "../../src/core/record/task.ts";
import type { AttachedJob } from "../../src/core/record/upstream.ts";
import type { LogLevel, LogLine } from "../../src/lib/log.ts";
import type { Platform } from "../../src/objects/task/platform.ts";
import { SECOND } from "../core/builders.ts";
import { runMicrotasks } from "./microtasks.ts";
import type { LastPoll } from "./poll-rules.ts";

export type CallName =
  | "send"
  | "sendProgress"
  | "charge"
  | "refund"
  | "release"
  | "poll"
  | "cancelJob"
  | "writeIndexRow"
  | "sendNotice"
  | "orderCopies"
  | "leaveQueues";

/** Type of the subject of a call, e.g. the attempt of a callback that is to be sent. */
export type Subject<Name extends CallName> = Parameters<Platform[Name]>[0];

/** The parties that the work loop calls; each call has the instance that makes it. */
export type Outside = {
  [Name in CallName]: (
    ...given: [...Parameters<Platform[Name]>, caller: SimulatedObject]
  ) => ReturnType<Platform[Name]>;
};

/** The machine under the instances of one object: clock, storage, alarm, configuration. */
export interface Host {
  readonly outside: Outside;
  now(caller: SimulatedObject): number;
  policy(now: number, caller: SimulatedObject): Policy;
  load(): TaskRecord | null;
  commit(record: TaskRecord, alarmAt: number | null, caller: SimulatedObject): void;
  setAlarm(at: number, caller: SimulatedObject): void;
  /** Returns the hosts that are paused now, each with the end of its pause. Absent where none ever is. */
  pausedHosts?(): ReadonlyMap<string, number>;
  erase(caller: SimulatedObject): Promise<void>;
  /** Makes durable what is written, before an answer or a call leaves the object. */
  flush?(): void;
  /** Tells whether the instance dies at the point that it has reached. */
  isDying(): boolean;
  died(): void;
  /** Takes an error that background work did not catch. */
  uncaught(error: unknown): void;
  /** Takes note of the first order to copy the outputs of a task, and of their deletion before its erasure. */
  copiesStarted?(order: CopyOrder): void;
  outputsDeleted?(outputs: KeptOutputs): void;
  /** Takes note that clients find no task any more by the id of this job. */
  jobForgotten?(job: AttachedJob): void;
  /** Takes note of a report about the hooks of the connection. */
  hookReported?(): void;
  /** Takes note of a progress callback that is not sent after all. */
  progressHeld?(callback: ProgressCallback, caller: SimulatedObject): void;
  log?(line: LogLine, level: LogLevel): void;
}

/** Number of turns of the event loop for which a request is being signed. */
const SIGNING_TURNS = 8;
/** Time in milliseconds for which an instance uses the paused hosts that it has read. */
const PAUSES_KEPT_MS = 10 * SECOND;

/** Error that every operation of a dead instance throws. */
export class Death extends Error {}

/**
 * The platform as one instance of a task object sees it. The instance may die before and after each
 * commit and each call; a dead instance neither acts nor receives an answer.
 */
export class SimulatedObject implements Platform {
  readonly watchdogMs = 15_000;
  /** Time at which its work loop has first looked at its work, in Unix milliseconds; Infinity when it has not. */
  startedAt = Infinity;
  isDead = false;
  /** Number of the attempt that this instance has opened last. */
  opened = 0;
  /** Number of polls that the instance has asked for. */
  polls = 0;
  /** The instance's last poll; null when there was none. */
  lastPoll: LastPoll | null = null;
  /** Time at which the newest client's read that has been answered was sent; -Infinity for none. */
  readAt = -Infinity;
  /** Time of the instance's last write to the index, in Unix milliseconds; 0 when it has made none. */
  rowTriedAt = 0;
  /** Number of writes to the index that the instance has begun. */
  rowTries = 0;
  /** Version of the last row that the instance knows to be in the index; 0 for none. */
  rowVersion = 0;
  /** States that an order to write the row again is being applied, which counts once the record has been read. */
  isRowOrdered = false;
  /** Time of the clock of the instance's work loop, at most, in Unix milliseconds. */
  latest = 0;
  /**
   * The same time, at least. It differs from `latest` for some turns after the handler of an alarm has ended for the work
   * loop and not yet for the platform.
   */
  earliest = 0;
  /** Paused hosts as the instance has read them last, each with the end of its pause. */
  pausedHosts: ReadonlyMap<string, number> = new Map();
  /** Time of the work loop at which the instance has last asked for the paused hosts, in Unix milliseconds. */
  pausesAskedAt = -Infinity;
  /** Time of the clock at which the instance has last read the paused hosts, in Unix milliseconds. */
  #pausesReadAt = -Infinity;
  /** Records that this instance committed, oldest first. */
  readonly commits: TaskRecord[] = [];
  /** Number of points that were reached so far; the instance is idle when it no longer rises. */
  points = 0;
  readonly #host: Host;
  /** True once the record has been read. */
  #hasLoaded = false;
  /**
   * Number of events that discard a write to the index in flight: orders to write the row again, and changes of a task
   * that has ended which readers see, for which the work loop does not wait for the write any longer.
   */
  #discards = 0;
  /** Version of the record that the instance has read or written last; 0 for none. */
  #version = 0;

  readonly send: Platform["send"] = (delivery) => this.#call((to) => to.send(delivery, this));
  readonly sendProgress: Platform["sendProgress"] = async (callback, mayStart) => {
    // The request is signed before it leaves, and other events may come meanwhile.
    await runMicrotasks(SIGNING_TURNS);
    if (mayStart()) return this.#call((to) => to.sendProgress(callback, mayStart, this));
    this.#living().progressHeld?.(callback, this);
    return null;
  };
  readonly charge: Platform["charge"] = (charge) => this.#call((to) => to.charge(charge, this));
  readonly refund: Platform["refund"] = (refund) => this.#call((to) => to.refund(refund, this));
  readonly release: Platform["release"] = (release) =>
    this.#call((to) => to.release(release, this));
  readonly poll: Platform["poll"] = (poll, aborted) =>
    this.#call((to) => to.poll(poll, aborted, this));
  readonly cancelJob: Platform["cancelJob"] = (cancel, aborted) =>
    this.#call((to) => to.cancelJob(cancel, aborted, this));
  readonly writeIndexRow: Platform["writeIndexRow"] = async (row) => {
    this.rowTriedAt = this.latest;
    this.rowTries++;
    const discards = this.#discards;
    const isWritten = await this.#call((to) => to.writeIndexRow(row, this));
    if (isWritten && discards === this.#discards) {
      this.rowVersion = Math.max(this.rowVersion, row.version);
    }
    return isWritten;
  };
  readonly orderCopies: Platform["orderCopies"] = (order) =>
    this.#call((to) => to.orderCopies(order, this));
  readonly leaveQueues: Platform["leaveQueues"] = (leave) =>
    this.#call((to) => to.leaveQueues(leave, this));
  readonly sendNotice: Platform["sendNotice"] = (notice, aborted) =>
    this.#call((to) => to.sendNotice(notice, aborted, this));

  constructor(host: Host) {
    this.#host = host;
  }

  now(): number {
    return this.#host.now(this);
  }

  policy(now: number): Policy {
    // Before the record has been read for the first time, the loop has seen no work: that read may have failed.
    if (!this.#hasLoaded || this.startedAt === Infinity) this.startedAt = now;
    return this.#living().policy(now, this);
  }

  readPauses(): Promise<void> | null {
    const host = this.#living();
    if (host.pausedHosts === undefined) return null;
    const now = host.now(this);
    this.pausesAskedAt = this.latest;
    const ageMs = now - this.#pausesReadAt;
    return ageMs >= 0 && ageMs < PAUSES_KEPT_MS ? null : this.#readPauses();
  }

  async #readPauses(): Promise<void> {
    this.leave();
    const host = this.#living();
    const readAt = host.now(this);
    const paused = host.pausedHosts?.() ?? new Map<string, number>();
    // The answer comes in a later turn, in which other events may have come.
    await Promise.resolve();
    this.#point();
    this.pausedHosts = paused;
    this.#pausesReadAt = readAt;
  }

  load(): TaskRecord | null {
    this.points++;
    const record = this.#living().load();
    this.#hasLoaded = true;
    this.#version = record?.version ?? 0;
    if (this.isRowOrdered) {
      this.rowVersion = 0;
      this.#discards++;
    }
    return record;
  }

  commit(record: TaskRecord, alarmAt: number | null): void {
    this.#point();
    this.#living().commit(record, alarmAt, this);
    if (!isOpen(record) && record.version !== this.#version) this.#discards++;
    this.#version = record.version;
    this.#point();
  }

  setAlarm(at: number): void {
    this.#point();
    this.#living().setAlarm(at, this);
    this.#point();
  }

  async erase(): Promise<void> {
    this.#point();
    await this.#living().erase(this);
    this.#point();
  }

  startCopies(order: CopyOrder): void {
    this.#living().copiesStarted?.(order);
  }

  async deleteOutputs(outputs: KeptOutputs): Promise<void> {
    this.leave();
    this.#living().outputsDeleted?.(outputs);
    // The answer comes in a later turn, in which other events may have come.
    await Promise.resolve();
    this.#point();
  }

  async forgetJob(job: AttachedJob): Promise<void> {
    this.leave();
    this.#living().jobForgotten?.(job);
    await Promise.resolve();
    this.#point();
  }

  reportAccountFault(): void {
    this.#living();
  }

  tellKeptCall(): void {
    this.#living();
  }

  reportHook(): void {
    this.#living().hookReported?.();
  }

  background(work: Promise<unknown>): void {
    void work.catch((error: unknown) => {
      if (!(error instanceof Death)) this.#host.uncaught(error);
    });
  }

  log(line: () => LogLine, level: LogLevel): void {
    this.points++;
    if (!this.isDead) this.#host.log?.(line(), level);
  }

  /** Makes durable what was written, before an answer or a call leaves. @throws Death */
  leave(): void {
    this.#point();
    if (this.#host.flush === undefined) return;
    this.#host.flush();
    this.#point();
  }

  die(): void {
    if (this.isDead) return;
    this.isDead = true;
    this.#host.died();
  }

  async #call<T>(call: (to: Outside) => Promise<T>): Promise<T> {
    this.leave();
    const answer = await call(this.#host.outside);
    // An answer to an instance that has died meanwhile is lost.
    if (this.isDead) await new Promise(() => {});
    this.#point();
    return answer;
  }

  #point(): void {
    const host = this.#living();
    this.points++;
    if (!host.isDying()) return;
    this.die();
    throw new Death();
  }

  #living(): Host {
    if (this.isDead) throw new Death();
    return this.#host;
  }
}

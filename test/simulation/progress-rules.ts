import type { ProgressCallback } from "../../src/core/events/progress-callback.ts";
import { isOpen, isTerminal, type TaskRecord } from "../../src/core/record/task.ts";
import { SECOND } from "../core/builders.ts";
import { type Change, firstViolation } from "./change.ts";
import type { SharedState } from "./object-host.ts";
import type { SimulatedObject } from "./simulated-object.ts";
import { isWanted, type TaskHistory } from "./task-history.ts";

const GAP_MS = 10 * SECOND;

/** The latest progress callback of an instance. */
interface Latest extends Pick<ProgressCallback, "startedAt" | "percent" | "recordedAt"> {
  readonly isRunning: boolean;
}

/** Checks the promise about progress callbacks (docs/receive.md): when one may start, and when one must. */
export class ProgressWatch {
  readonly #latest = new WeakMap<SimulatedObject, Latest>();
  readonly #sent = new WeakSet<ProgressCallback>();
  /** Instance that has to send one, because it has learned that the job runs; null for none. */
  #owing: SimulatedObject | null = null;

  onCommit({ before, after, now, setting, history, instance }: Change): void {
    if (!isOpen(after)) this.#owing = null;
    const isStart = after.status === "processing" && before?.status !== "processing";
    if (!isStart || setting.isPaused || !isAskedFor(history, after)) return;
    if (isFree(this.#latest.get(instance), now)) this.#owing = instance;
  }

  /** Forgets what was owed to the receiver of a task that is erased, e.g. because its submission was refused. */
  onErase(): void {
    this.#owing = null;
  }

  /** Returns the rule that a progress callback breaks which is about to be sent; null when it breaks none. */
  sendFault(
    callback: ProgressCallback,
    caller: SimulatedObject,
    history: TaskHistory | null,
    { disk, setting, now }: SharedState,
  ): string | null {
    const { record } = disk.durable;
    const latest = this.#latest.get(caller);
    const { percent, startedAt, recordedAt } = callback;
    const isRepeated = this.#sent.has(callback);
    this.#sent.add(callback);
    this.#latest.set(caller, { percent, startedAt, recordedAt, isRunning: true });
    if (this.#owing === caller) this.#owing = null;
    if (record === null || !isOpen(record)) {
      return "no progress callback starts after the end of the task is stored";
    }
    return firstViolation({
      "a progress callback is about the stored task": record.recordedAt === recordedAt,
      "only a task that asks for it has progress callbacks": isAskedFor(history, record),
      "a progress callback goes to the URL of the task": callback.url === record.callbackUrl,
      "a progress callback has one attempt": !isRepeated,
      "one progress callback runs at a time": latest?.isRunning !== true,
      "at most one progress callback starts in 10 s": isFree(latest, startedAt),
      "a progress callback tells another percentage":
        percent === null || percent !== latest?.percent || recordedAt !== latest.recordedAt,
      "only the upstream states percentages":
        percent === null || history?.percentages.has(percent) === true,
      "the body of a progress callback is the promised one":
        callback.body === bodyOf(record, percent),
      "no progress is told while the relay is paused": !setting.isPaused,
      "the paused hosts are asked for before progress is told": caller.pausesAskedAt >= startedAt,
      "no progress is told to a host that is paused": !isPaused(caller, callback.url, now),
    });
  }

  onAnswer(caller: SimulatedObject): void {
    const latest = this.#latest.get(caller);
    if (latest !== undefined) this.#latest.set(caller, { ...latest, isRunning: false });
  }

  /** Returns the rule that the caller breaks when it does not send a progress callback; null when it breaks none. */
  heldFault(
    callback: ProgressCallback,
    caller: SimulatedObject,
    { disk }: SharedState,
  ): string | null {
    const { record } = disk.written;
    const isAbout = record !== null && isOpen(record) && record.recordedAt === callback.recordedAt;
    const isHeld = isPaused(caller, callback.url, caller.earliest);
    // Nothing is owed to a host that was found to be paused, or while the callback of an erased task is prepared.
    if ((isHeld || !isAbout) && this.#owing === caller) this.#owing = null;
    return firstViolation({
      "progress of a running job is held back for a paused host alone": isHeld || !isAbout,
    });
  }

  /** Checks, when nothing more happens, that the living instance has told that the job runs. */
  restFault(living: SimulatedObject | null, hadFault: boolean): string | null {
    if (living === null || this.#owing !== living || hadFault) return null;
    return "the receiver is told when the job is first known to run";
  }
}

/** Checks that a task has a callback at its end exactly when there is somebody to tell. */
export function endCallbackFault({ after, history }: Change): string | null {
  if (!isTerminal(after)) return null;
  const { stated } = history;
  const isDue = stated.url !== null && isWanted(stated, after.status);
  return firstViolation({
    "a task has a callback if its receiver wants to be told of the end":
      (after.callback !== null) === isDue,
  });
}

function isAskedFor(history: TaskHistory | null, record: TaskRecord): boolean {
  if (!isOpen(record) || record.callbackUrl === null) return false;
  return history?.stated.events?.includes("progress") === true;
}

/** Tells whether the host of a URL is paused, as an instance has read it last. */
function isPaused({ pausedHosts }: SimulatedObject, url: string, now: number): boolean {
  return (pausedHosts.get(new URL(url).host) ?? 0) > now;
}

function isFree(latest: Latest | undefined, now: number): boolean {
  return latest === undefined || (!latest.isRunning && now - latest.startedAt >= GAP_MS);
}

function bodyOf({ id, model, createdAt }: TaskRecord, percent: number | null): string {
  const head = `{"id":"${id}","status":"processing","model":${JSON.stringify(model)}`;
  return `${head},"created_at":${Math.floor(createdAt / SECOND)},"progress":${percent}}`;
}

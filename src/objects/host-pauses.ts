import { readingNeeded } from "../core/freshness.ts";
import { type HostPause, PAUSE_FRESHNESS } from "../core/plans/host-pause.ts";
import { SECOND_MS } from "../core/time.ts";
import { withinTime, withTimeout } from "../lib/timeout.ts";
import { deploymentObject, type ObjectNamespaces } from "./object-names.ts";

/** Longest time in milliseconds that an attempt waits for the list of paused hosts. */
const READ_TIMEOUT_MS = SECOND_MS;
const NONE: ReadonlyMap<string, number> = new Map();

/**
 * The list of paused hosts in the memory of this isolate. The isolate reads it when it starts an attempt of a callback,
 * at most every eight seconds, so that a task costs no request of its own.
 */
export class HostPauses {
  readonly #env: ObjectNamespaces;
  /** Ends of the pauses by host, in Unix milliseconds, as they were read last. */
  #pauses = NONE;
  /** When the latest reading began, in Unix milliseconds. A failed one counts too. Null when there was none. */
  #readAt: number | null = null;
  /** The reading for which other attempts may wait too, and when it began. Null when there is none. */
  #shared: { readonly ended: Promise<void>; readonly since: number } | null = null;

  constructor(env: ObjectNamespaces) {
    this.#env = env;
  }

  /** Returns the paused hosts, each with the end of its pause. Empty when they were not read within the last ten seconds. */
  known(): ReadonlyMap<string, number> {
    return this.#pauses.size === 0 || this.#need() === "wait" ? NONE : this.#pauses;
  }

  /**
   * Reads the list. It never throws. Without an answer in time, the list that was read last counts for as long as a new
   * one: callbacks do not wait for the one object that stores the list.
   * @returns null when the isolate has read the list within the last ten seconds. It may then read it again meanwhile.
   */
  read(): Promise<void> | null {
    const need = this.#need();
    if (need === "none") return null;
    const ended = this.#sharedReading();
    return need === "beside" ? null : this.#wait(ended);
  }

  /** Notes the list as it was read at `startedAt`. */
  note(pauses: readonly HostPause[], startedAt: number): void {
    // The answer to a later reading may have come before.
    if (this.#readAt !== null && startedAt < this.#readAt && this.#need() !== "wait") return;
    this.#pauses = new Map(pauses.map(({ host, until }) => [host, until]));
    this.#readAt = startedAt;
  }

  #need(): ReturnType<typeof readingNeeded> {
    return readingNeeded({ readAt: this.#readAt, failedAt: null }, PAUSE_FRESHNESS, Date.now());
  }

  async #wait(ended: Promise<void>): Promise<void> {
    await withinTime(() => ended, undefined, READ_TIMEOUT_MS);
    // The request that reads may have ended before its answer came.
    if (this.#need() === "wait") this.#readAt = Date.now();
  }

  /** Returns the reading that is under way, or begins one, which goes on when its request has ended. */
  #sharedReading(): Promise<void> {
    const since = Date.now();
    if (this.#shared !== null && Math.abs(since - this.#shared.since) < READ_TIMEOUT_MS) {
      return this.#shared.ended;
    }
    const ended = this.#readInTime(since);
    this.#shared = { ended, since };
    this.#env.startup.waitUntil(ended);
    return ended;
  }

  async #readInTime(startedAt: number): Promise<void> {
    const ask = async (): Promise<readonly HostPause[]> => deploymentObject(this.#env).hostPauses();
    const pauses = await withTimeout<readonly HostPause[] | null>(
      "pauses",
      ask,
      null,
      READ_TIMEOUT_MS,
    );
    this.#shared = null;
    if (pauses === null) this.#readAt = Date.now();
    else this.note(pauses, startedAt);
  }
}

const lists = new WeakMap<object, HostPauses>();

/** Returns the list of paused hosts in the memory of this isolate. */
export function hostPauses(env: ObjectNamespaces): HostPauses {
  const known = lists.get(env.startup);
  if (known !== undefined) return known;
  const list = new HostPauses(env);
  lists.set(env.startup, list);
  return list;
}

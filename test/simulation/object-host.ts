import type { CopyOrder, KeptOutputs } from "../../src/core/duties/copy-order.ts";
import type { ProgressCallback } from "../../src/core/events/progress-callback.ts";
import type { Policy } from "../../src/core/policy.ts";
import { isTerminal, type TaskRecord } from "../../src/core/record/task.ts";
import type { AttachedJob } from "../../src/core/record/upstream.ts";
import { jsonEqual, type JsonValue } from "../../src/core/json.ts";
import { parseRecord } from "../../src/core/record/record-schema.ts";
import { DAY } from "../core/builders.ts";
import type { SimulatedLedger } from "./ledger.ts";
import type { Disk } from "./disk.ts";
import type { Parties } from "./parties.ts";
import { lastPollAfter } from "./poll-rules.ts";
import { policyOf, type Setting } from "./setting.ts";
import type { Submitters } from "./submitters.ts";
import { requireStorable } from "./storage-limit.ts";
import { Death, type Host, type SimulatedObject } from "./simulated-object.ts";
import type { InvariantChecker } from "./invariant-checker.ts";

/** Error that storage throws when it fails. */
export class StorageFault extends Error {}

/** State that all instances of one object share. */
export interface SharedState {
  readonly disk: Disk;
  readonly outside: Parties;
  readonly submitters: Submitters;
  readonly ledger: SimulatedLedger;
  readonly checker: InvariantChecker;
  /** Time of the clock in Unix milliseconds. */
  clock: number;
  /** Time for which the alarm was set whose handler is running; null when none runs. */
  readonly runningAlarmAt: number | null;
  /** Time for which the work that may start now is planned, in Unix milliseconds; at most `now`. */
  readonly plannedAt: number;
  /** Earliest time at which the work that may start now was decided, in Unix milliseconds; at most `plannedAt`. */
  readonly decidedAt: number;
  setting: Setting;
  /** Paused hosts, each with the end of its pause in Unix milliseconds. */
  readonly pauses: ReadonlyMap<string, number>;
  /** Number of points that the living instance passes before it dies; null when it does not die. */
  deathIn: number | null;
  /** Number of the next reads that fail. */
  faultyReads: number;
  /** States that storage or configuration has failed, so that work may have stopped until the next alarm. */
  hadFault: boolean;
  /** States that records are converted to their stored form and back, as on the real platform. */
  readonly isRoundTripped: boolean;
  /** States that the relay had no index at some time. */
  readonly hadIndexOff: boolean;
  /** Time of the clock of the living instance's work loop. */
  readonly now: number;
  /** Makes durable what was written. */
  flush(): void;
  /** Records that the instance has died. */
  died(): void;
}

const MAX_ALARM_AHEAD_MS = 30 * DAY;

/**
 * The host of a simulated object: it writes to the simulated disk and passes every write to the invariant
 * checker.
 */
export class ObjectHost implements Host {
  readonly outside: Parties;
  readonly #shared: SharedState;

  constructor(shared: SharedState) {
    this.#shared = shared;
    this.outside = shared.outside;
  }

  now(caller: SimulatedObject): number {
    const { clock, now } = this.#shared;
    caller.latest = now;
    caller.earliest = Math.max(caller.earliest, clock);
    return clock;
  }

  policy(now: number, caller: SimulatedObject): Policy {
    const { checker, setting } = this.#shared;
    const isKnown = now >= caller.earliest && now <= caller.latest;
    checker.require("clock", { "the work loop has the time of the machine or the alarm": isKnown });
    caller.latest = now;
    caller.earliest = now;
    const { pausedHosts } = caller;
    return { ...policyOf(setting, now), ...(pausedHosts.size > 0 && { pausedHosts }) };
  }

  pausedHosts(): ReadonlyMap<string, number> {
    return new Map(this.#shared.pauses);
  }

  load(): TaskRecord | null {
    const { disk, isRoundTripped } = this.#shared;
    if (this.#shared.faultyReads > 0) {
      this.#shared.faultyReads--;
      throw new StorageFault();
    }
    const { record } = disk.written;
    return record === null || !isRoundTripped ? record : reread(record);
  }

  commit(record: TaskRecord, alarmAt: number | null, caller: SimulatedObject): void {
    const { disk, checker } = this.#shared;
    const before = disk.written.record;
    requireStorable(record);
    disk.write({ record });
    caller.commits.push(record);
    caller.lastPoll = lastPollAfter(caller.lastPoll, before, record);
    checker.onCommit(before, record, caller);
    const opened = attemptInFlight(record);
    if (opened !== null && opened !== attemptInFlight(before)) caller.opened = opened;
    if (alarmAt !== null) this.setAlarm(alarmAt, caller, before === null);
  }

  /** @param isOfNewTask true for the alarm that is set with the first commit of a task. */
  setAlarm(at: number, caller: SimulatedObject, isOfNewTask = false): void {
    const { disk, checker, clock, runningAlarmAt, setting, now } = this.#shared;
    // Without a task, the handler of an alarm does not move the loop's clock, and it ends for the loop a turn before it
    // ends for the platform.
    const runningAt = Math.min(runningAlarmAt ?? 0, isOfNewTask ? caller.latest : Infinity);
    const after = Math.max(clock, runningAt);
    if (at <= after || at > after + MAX_ALARM_AHEAD_MS) {
      checker.report("alarms are later than now and the running one", `${at - after} ms`);
    }
    const { rowVersion } = caller;
    const alarm = { at, armedAt: now, under: setting, by: caller, rowVersion, isRepeat: false };
    disk.write({ alarm });
  }

  async erase(caller: SimulatedObject): Promise<void> {
    const { disk, checker } = this.#shared;
    const { record } = disk.written;
    checker.onErase(record);
    const after = (record?.version ?? 0) + 1;
    caller.latest = Math.max(caller.latest, after);
    caller.earliest = Math.max(caller.earliest, after);
    disk.write({ record: null, alarm: null });
  }

  flush(): void {
    this.#shared.flush();
  }

  copiesStarted(order: CopyOrder): void {
    this.#shared.checker.onCopyOrder(order, null);
  }

  outputsDeleted(outputs: KeptOutputs): void {
    this.#shared.checker.deletedOutputs = outputs;
  }

  jobForgotten(job: AttachedJob): void {
    this.#shared.checker.forgottenJob = job;
  }

  hookReported(): void {
    this.#shared.checker.onHookReport();
  }

  progressHeld(callback: ProgressCallback, caller: SimulatedObject): void {
    this.#shared.checker.onProgressHeld(callback, caller);
  }

  isDying(): boolean {
    const { deathIn } = this.#shared;
    if (deathIn === null) return false;
    this.#shared.deathIn = deathIn === 0 ? null : deathIn - 1;
    return deathIn === 0;
  }

  died(): void {
    this.#shared.died();
  }

  /** Reports an uncaught error, unless it comes from a dead instance or from failing storage. */
  uncaught(error: unknown): void {
    if (error instanceof Death || error instanceof StorageFault) return;
    this.#shared.checker.report("no error is uncaught", String(error));
  }
}

function attemptInFlight(record: TaskRecord | null): number | null {
  const callback = record !== null && isTerminal(record) ? record.callback : null;
  return callback?.state.kind === "in_flight" ? callback.state.number : null;
}

/**
 * Returns a record in the form in which the real platform reads it again, frozen so that a change in place
 * throws. @throws when it differs from what was written.
 */
function reread(record: TaskRecord): TaskRecord {
  const read = parseRecord(structuredClone(record));
  if (!jsonEqual(jsonOf(read), jsonOf(record))) {
    throw new Error(`a record is not read as it was written: ${JSON.stringify(record)}`);
  }
  return deepFreeze(read);
}

function jsonOf(record: TaskRecord): JsonValue {
  return JSON.parse(JSON.stringify(record));
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  Object.values(value).forEach(deepFreeze);
  return value;
}

import type { Policy } from "../../src/core/policy.ts";
import { isTerminal, type TaskRecord } from "../../src/core/record/task.ts";
import { DAY } from "../core/builders.ts";
import type { SimulatedLedger } from "./ledger.ts";
import type { Disk } from "./disk.ts";
import type { Parties } from "./parties.ts";
import { reread } from "./reread.ts";
import { policyOf, type Setting } from "./setting.ts";
import { Death, type Host, type SimulatedObject } from "./simulated-object.ts";
import type { InvariantChecker } from "./invariant-checker.ts";

/** Thrown by storage that does not answer. */
export class StorageFault extends Error {}

/** What the instances of one object share. */
export interface Ground {
  readonly disk: Disk;
  readonly outside: Parties;
  readonly ledger: SimulatedLedger;
  readonly checker: InvariantChecker;
  /** Unix milliseconds. */
  clock: number;
  /** Scheduled time of the alarm that is running. */
  readonly ringing: number | null;
  setting: Setting;
  /** How many points the living instance passes before it dies; null when it lives on. */
  deathIn: number | null;
  /** How many of the next reads fail. */
  faultyReads: number;
  /** Storage or configuration has failed: work may have stopped until the next alarm. */
  wasBroken: boolean;
  /** Whether records go through their stored form, as they do on the real platform. */
  readonly isRoundTripped: boolean;
  /** The clock of the living instance's loop. */
  readonly now: number;
  /** Makes durable what is written. */
  flush(): void;
  /** Notes that the instance has died. */
  died(): void;
}

const MAX_ALARM_AHEAD_MS = 30 * DAY;

/** The host of a simulated object: every write goes to its disk and is shown to the invariant checker. */
export class ObjectHost implements Host {
  readonly outside: Parties;
  readonly #ground: Ground;

  constructor(ground: Ground) {
    this.#ground = ground;
    this.outside = ground.outside;
  }

  now(caller: SimulatedObject): number {
    caller.latest = this.#ground.now;
    return this.#ground.clock;
  }

  policy(now: number): Policy {
    return policyOf(this.#ground.setting, now);
  }

  load(): TaskRecord | null {
    const { disk, isRoundTripped } = this.#ground;
    if (this.#ground.faultyReads > 0) {
      this.#ground.faultyReads--;
      throw new StorageFault();
    }
    const { record } = disk.written;
    return record === null || !isRoundTripped ? record : reread(record);
  }

  commit(record: TaskRecord, alarmAt: number, caller: SimulatedObject): void {
    const { disk, checker } = this.#ground;
    const before = disk.written.record;
    disk.write({ record });
    caller.commits.push(record);
    checker.committed(before, record, caller);
    const opened = openAttempt(record);
    if (opened !== null && opened !== openAttempt(before)) caller.opened = opened;
    this.setAlarm(alarmAt, caller);
  }

  setAlarm(at: number, caller: SimulatedObject): void {
    const { disk, checker, clock, ringing, setting, now } = this.#ground;
    const after = Math.max(clock, ringing ?? 0);
    if (at <= after || at > after + MAX_ALARM_AHEAD_MS) {
      checker.broken("alarms are later than now and the running one", `${at - after} ms`);
    }
    disk.write({ alarm: { at, armedAt: now, under: setting, by: caller, isRepeat: false } });
  }

  async erase(caller: SimulatedObject): Promise<void> {
    const { disk, checker } = this.#ground;
    const { record } = disk.written;
    checker.erased(record);
    caller.latest = Math.max(caller.latest, (record?.version ?? 0) + 1);
    disk.write({ record: null, alarm: null });
  }

  flush(): void {
    this.#ground.flush();
  }

  isDying(): boolean {
    const { deathIn } = this.#ground;
    if (deathIn === null) return false;
    this.#ground.deathIn = deathIn === 0 ? null : deathIn - 1;
    return deathIn === 0;
  }

  died(): void {
    this.#ground.died();
  }

  /** Reports an error that nobody caught, unless it comes of a dead instance or of broken storage. */
  escaped(error: unknown): void {
    if (error instanceof Death || error instanceof StorageFault) return;
    this.#ground.checker.broken("nothing escapes", String(error));
  }
}

function openAttempt(record: TaskRecord | null): number | null {
  const callback = record !== null && isTerminal(record) ? record.callback : null;
  return callback?.state.kind === "in_flight" ? callback.state.number : null;
}

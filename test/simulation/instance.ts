import type { ChargeAnswer, PollAnswer } from "../../src/core/events/event.ts";
import type { IndexRow } from "../../src/core/views/index-row.ts";
import type { Policy } from "../../src/core/policy.ts";
import type { AttemptResult } from "../../src/core/record/callback.ts";
import type { Charge } from "../../src/core/duties/charge.ts";
import type { Delivery } from "../../src/core/duties/deliver.ts";
import type { OperatorNotice } from "../../src/core/duties/notify.ts";
import type { Poll } from "../../src/core/duties/poll.ts";
import type { Refund } from "../../src/core/duties/refund.ts";
import { isTerminal, type TaskRecord } from "../../src/core/record/task.ts";
import type { Platform } from "../../src/task/platform.ts";
import { DAY } from "../core/builders.ts";
import type { Books } from "./books.ts";
import type { Disk } from "./disk.ts";
import type { Outside } from "./outside.ts";
import { reread } from "./reread.ts";
import { policyOf, type Setting } from "./setting.ts";
import type { Witness } from "./witness.ts";

/** The instance is gone; nobody catches this but the world. */
class Death extends Error {}
/** The storage does not answer. */
export class StorageFault extends Error {}

/** What the instances of one object share. */
export interface Ground {
  readonly disk: Disk;
  readonly outside: Outside;
  readonly books: Books;
  readonly witness: Witness;
  /** Unix milliseconds. */
  clock: number;
  /** Scheduled time of the alarm that is running. */
  readonly ringing: number | null;
  setting: Setting;
  /** The living instance dies at the point after so many others; null: it lives on. */
  deathIn: number | null;
  /** How many of the next reads fail. */
  faultyReads: number;
  /** Storage or configuration has been broken: whatever was under way may have stopped until an alarm. */
  wasBroken: boolean;
  /** Whether records go through their stored form, as they do on the real platform. */
  readonly isRoundTripped: boolean;
  /** The clock of the living instance's loop. */
  readonly now: number;
  /** What is written becomes durable. */
  flush(): void;
  /** The instance has died. */
  died(): void;
}

const MAX_ALARM_AHEAD_MS = 30 * DAY;

/**
 * The platform as one instance sees it. Before and after each of its commits and calls it may die, and
 * from then on it reads, writes, asks and answers nothing.
 */
export class Instance implements Platform {
  readonly watchdogMs = 15_000;
  isDead = false;
  /** The attempt that a commit of this instance has opened last. */
  opened = 0;
  /** The latest time that its loop has seen: its clock does not go back. */
  latest = 0;
  /** What it committed last, newest last. */
  readonly commits: TaskRecord[] = [];
  /** Points that it has lived through: it is at rest when they no longer rise. */
  points = 0;
  readonly #ground: Ground;

  constructor(ground: Ground) {
    this.#ground = ground;
  }

  now(): number {
    const { now, clock } = this.#ground;
    this.latest = now;
    return clock;
  }

  policy(now: number): Policy {
    return policyOf(this.#alive().setting, now);
  }

  load(): TaskRecord | null {
    const ground = this.#alive();
    this.points++;
    if (ground.faultyReads > 0) {
      ground.faultyReads--;
      throw new StorageFault();
    }
    const { record } = ground.disk.written;
    return record === null || !ground.isRoundTripped ? record : reread(record);
  }

  commit(record: TaskRecord, alarmAt: number): void {
    this.#point();
    const { disk, witness } = this.#alive();
    const before = disk.written.record;
    disk.write({ record });
    this.commits.push(record);
    witness.committed(before, record, this);
    this.#noteOpened(before, record);
    this.#arm(alarmAt);
    this.#point();
  }

  setAlarm(at: number): void {
    this.#point();
    this.#arm(at);
    this.#point();
  }

  async erase(): Promise<void> {
    this.#point();
    const { disk, witness } = this.#alive();
    const { record } = disk.written;
    witness.erased(record);
    this.latest = Math.max(this.latest, (record?.version ?? 0) + 1);
    disk.write({ record: null, alarm: null });
    this.#point();
  }

  async send(delivery: Delivery): Promise<AttemptResult> {
    return this.leave().outside.send(delivery, this);
  }

  async charge(charge: Charge): Promise<ChargeAnswer> {
    return this.leave().outside.charge(charge, this);
  }

  async refund(refund: Refund): Promise<boolean> {
    return this.leave().outside.refund(refund, this);
  }

  async poll(poll: Poll, aborted: AbortSignal): Promise<PollAnswer> {
    return this.leave().outside.poll(poll, aborted, this);
  }

  async publish(row: IndexRow): Promise<boolean> {
    return this.leave().outside.publish(row, this);
  }

  async notify(notice: OperatorNotice, aborted: AbortSignal): Promise<boolean> {
    return this.leave().outside.notify(notice, aborted, this);
  }

  background(work: Promise<void>): void {
    void work.catch((error: unknown) => this.escaped(error));
  }

  log(): void {
    this.points++;
  }

  /** What is written becomes durable, before an answer or a call leaves the object. */
  leave(): Ground {
    this.#point();
    this.#alive().flush();
    this.#point();
    return this.#alive();
  }

  /** An error that nobody caught: a dead instance or a broken storage may leave one, nothing else. */
  escaped(error: unknown): void {
    if (error instanceof Death || error instanceof StorageFault) return;
    this.#ground.witness.broken("nothing escapes", String(error));
  }

  /** An alarm that failed is set again, outside the loop. */
  recover(at: number): void {
    this.#arm(at);
    this.#alive().flush();
  }

  die(): void {
    if (this.isDead) return;
    this.isDead = true;
    this.#ground.died();
  }

  #noteOpened(before: TaskRecord | null, after: TaskRecord): void {
    const number = openAttempt(after);
    if (number !== null && number !== openAttempt(before)) this.opened = number;
  }

  #arm(at: number): void {
    const { disk, witness, clock, ringing, setting, now } = this.#alive();
    const after = Math.max(clock, ringing ?? 0);
    if (at <= after || at > after + MAX_ALARM_AHEAD_MS) {
      witness.broken("alarms are later than now and the running one", `${at - after} ms`);
    }
    disk.write({ alarm: { at, armedAt: now, under: setting, by: this, isRepeat: false } });
  }

  #point(): void {
    const ground = this.#alive();
    this.points++;
    if (ground.deathIn === null || ground.deathIn-- > 0) return;
    ground.deathIn = null;
    this.die();
    throw new Death();
  }

  #alive(): Ground {
    if (this.isDead) throw new Death();
    return this.#ground;
  }
}

function openAttempt(record: TaskRecord | null): number | null {
  const callback = record !== null && isTerminal(record) ? record.callback : null;
  return callback?.state.kind === "in_flight" ? callback.state.number : null;
}

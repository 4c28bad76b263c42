import type { ChargeAnswer, PollAnswer } from "../../src/core/events/event.ts";
import type { Policy } from "../../src/core/policy.ts";
import type { IndexRow } from "../../src/core/views/index-row.ts";
import type { AttemptResult } from "../../src/core/record/callback.ts";
import type { Charge } from "../../src/core/duties/charge.ts";
import type { Delivery } from "../../src/core/duties/deliver.ts";
import type { OperatorNotice } from "../../src/core/duties/notify.ts";
import type { Poll } from "../../src/core/duties/poll.ts";
import type { Refund } from "../../src/core/duties/refund.ts";
import type { TaskRecord } from "../../src/core/record/task.ts";
import type { LogLine } from "../../src/log.ts";
import type { Platform } from "../../src/task/platform.ts";
import type { MemoryPlatform } from "./memory-platform.ts";

/** The instance is gone; nobody catches this but the test. */
export class Death extends Error {}

/**
 * The platform as one instance sees it. Before and after every commit and every call it may die
 * (`dies` says when), and from then on it reads, writes, asks and answers nothing.
 */
export class MortalPlatform implements Platform {
  readonly #base: MemoryPlatform;
  readonly #dies: () => boolean;
  #isDead = false;

  constructor(base: MemoryPlatform, dies: () => boolean) {
    this.#base = base;
    this.#dies = dies;
  }

  get watchdogMs(): number {
    return this.#base.watchdogMs;
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  die(): void {
    this.#isDead = true;
    this.#base.crash();
  }

  now(): number {
    return this.#base.now();
  }

  policy(now: number): Policy {
    return this.#alive().policy(now);
  }

  load(): TaskRecord | null {
    return this.#alive().load();
  }

  commit(record: TaskRecord, alarmAt: number): void {
    this.#point();
    this.#base.commit(record, alarmAt);
    this.#point();
  }

  setAlarm(at: number): void {
    this.#point();
    this.#base.setAlarm(at);
    this.#point();
  }

  async erase(): Promise<void> {
    return this.#call(() => this.#base.erase());
  }

  async send(delivery: Delivery): Promise<AttemptResult> {
    return this.#call(() => this.#base.send(delivery));
  }

  async charge(charge: Charge): Promise<ChargeAnswer> {
    return this.#call(() => this.#base.charge(charge));
  }

  async refund(refund: Refund): Promise<boolean> {
    return this.#call(() => this.#base.refund(refund));
  }

  async poll(poll: Poll, aborted: AbortSignal): Promise<PollAnswer> {
    return this.#call(() => this.#base.poll(poll, aborted));
  }

  async publish(row: IndexRow): Promise<boolean> {
    return this.#call(() => this.#base.publish(row));
  }

  async notify(notice: OperatorNotice): Promise<boolean> {
    return this.#call(() => this.#base.notify(notice));
  }

  background(work: Promise<void>): void {
    const alive = work.catch((error: unknown) => {
      if (!(error instanceof Death)) throw error;
    });
    this.#base.background(alive);
  }

  log(line: LogLine): void {
    if (!this.#isDead) this.#base.log(line);
  }

  async #call<T>(call: () => Promise<T>): Promise<T> {
    this.#point();
    const answer = await call();
    this.#point();
    return answer;
  }

  #point(): void {
    this.#alive();
    if (!this.#dies()) return;
    this.die();
    throw new Death();
  }

  #alive(): MemoryPlatform {
    if (this.#isDead) throw new Death();
    return this.#base;
  }
}

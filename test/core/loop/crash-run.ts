import { expect } from "vitest";
import type { PollAnswer, TaskEvent } from "../../../src/core/events/event.ts";
import { isTerminal, type TaskRecord } from "../../../src/core/record/task.ts";
import type { WorkLoop } from "../../../src/task/work-loop.ts";
import { Death } from "../../simulation/simulated-object.ts";
import { runMicrotasks } from "../../simulation/microtasks.ts";
import { MemoryHost } from "./memory-host.ts";

/** One object whose instances die at the given points, counted over all of them from 1. */
export class CrashRun {
  readonly platform = new MemoryHost();
  /** What the upstream says at a time. */
  upstream: (now: number) => PollAnswer = () => ({ kind: "unanswered" });
  readonly #deaths: ReadonlySet<number>;
  #points = 0;
  #instance = this.platform.start();
  #ring: Promise<void> | null = null;

  constructor(...deaths: readonly number[]) {
    this.#deaths = new Set(deaths);
    this.platform.isDying = () => this.#deaths.has(++this.#points);
  }

  get points(): number {
    return this.#points;
  }

  get loop(): WorkLoop {
    if (this.#instance.instance.isDead) {
      this.#instance = this.platform.start();
      this.#ring = null;
    }
    return this.#instance.loop;
  }

  /** Tells the object, which may die of it, and lets it go as far as it can. */
  async tell(event: TaskEvent): Promise<void> {
    try {
      await this.loop.applyAndErase(event);
    } catch (error) {
      if (!(error instanceof Death)) throw error;
    }
    await this.#settle();
  }

  /** Moves on by the alarms alone until `isOver`, or until there is no record any more. */
  async sleepUntil(isOver: (record: TaskRecord) => boolean): Promise<void> {
    for (let i = 0; i < 60; i++) {
      const { stored } = this.platform;
      if (stored === null || isOver(stored)) return;
      await this.sleep();
    }
    throw new Error(`no end: ${JSON.stringify(this.platform.stored)}`);
  }

  /** One alarm, and what it does. */
  async sleep(): Promise<void> {
    this.#startRinging();
    await this.#settle();
  }

  async sleepToTheEnd(): Promise<void> {
    await this.sleepUntil(() => false);
    // An alarm whose handler died comes again, and finds nothing.
    if (this.platform.alarm !== null) await this.platform.ring(this.loop);
    expect(this.platform.alarm).toBeNull();
    expect(this.platform.failures).toEqual([]);
    expect(this.platform.badAlarms).toEqual([]);
    checkBooks(this.platform);
  }

  async #settle(): Promise<void> {
    await runMicrotasks();
    expect(this.platform.early).toEqual([]);
    await this.platform.answerPoll(this.upstream(this.platform.clock));
    await this.platform.answer("delivered");
    if (this.#ring !== null && this.#instance.instance.isDead) this.#ring = null;
  }

  #startRinging(): void {
    const { loop } = this;
    if (this.#ring !== null) return;
    const rung: Promise<void> = this.platform.ring(loop).then(
      () => this.#ended(rung),
      (error: unknown) => {
        if (!(error instanceof Death)) throw error;
        this.#ended(rung);
      },
    );
    this.#ring = rung;
  }

  #ended(rung: Promise<void>): void {
    if (this.#ring === rung) this.#ring = null;
  }
}

/**
 * What must be in the books when every task has come to its end: one charge for each life that anyone
 * could see, one refund for each that failed, and nothing else.
 */
export function checkBooks({ history, ledger }: MemoryHost): void {
  const charged = new Set<string>();
  const failed = new Set<string>();
  const settled = new Set<string>();
  for (const record of history) {
    const { id, credits, status } = record;
    if (credits === null || status === "charging") continue;
    if (credits.chargeId === null) {
      if (status === "failed") settled.add(id);
      continue;
    }
    charged.add(credits.chargeId);
    if (isTerminal(record) && status === "failed") failed.add(credits.chargeId);
  }
  const booked = (kind: string) =>
    ledger.entries.filter((entry) => entry.kind === kind).map(({ chargeId }) => chargeId);
  expect(booked("charge").toSorted()).toEqual([...charged].toSorted());
  expect(booked("refund").toSorted()).toEqual([...failed].toSorted());
  expect([...ledger.settled]).toEqual([...settled]);
  const kept = ledger.entries.filter(({ chargeId }) => !failed.has(chargeId));
  const spent = kept.reduce((sum, { amount }) => sum + amount, 0);
  expect(ledger.balance).toBe(ledger.granted - spent);
}

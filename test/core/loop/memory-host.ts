import type { ChargeAnswer, PollAnswer } from "../../../src/core/events/event.ts";
import type { Outcome } from "../../../src/core/record/outcome.ts";
import type { Policy } from "../../../src/core/policy.ts";
import type { IndexRow } from "../../../src/core/views/index-row.ts";
import type { AttemptResult } from "../../../src/core/record/callback.ts";
import type { Charge } from "../../../src/core/duties/charge.ts";
import type { Delivery } from "../../../src/core/duties/deliver.ts";
import type { OperatorNotice } from "../../../src/core/duties/notify.ts";
import type { Poll } from "../../../src/core/duties/poll.ts";
import type { Refund } from "../../../src/core/duties/refund.ts";
import type { TaskRecord } from "../../../src/core/record/task.ts";
import type { LogLine } from "../../../src/log.ts";
import { parseRecord } from "../../../src/task/record-schema.ts";
import { WorkLoop } from "../../../src/task/work-loop.ts";
import { runMicrotasks } from "../../simulation/microtasks.ts";
import { type Host, type Outside, SimulatedObject } from "../../simulation/simulated-object.ts";
import { DAY, NOW, POLICY } from "../builders.ts";
import type { Call, Outage, Polling, Sending, Write } from "./memory-calls.ts";
import { ModelLedger } from "./model-ledger.ts";

const RECOVERY_MS = 60_000;
const MAX_ALARM_AHEAD_MS = 30 * DAY;

/**
 * The storage, the alarm and the clock of one object, and requests that the test answers. It outlives the
 * loops that run on it, as storage outlives an object.
 */
export class MemoryHost implements Host {
  readonly outside: Outside = {
    send: (delivery) => this.#send(delivery),
    charge: (charge) => this.#charge(charge),
    refund: (refund) => this.#refund(refund),
    poll: (poll, aborted) => this.#poll(poll, aborted),
    publish: (row) => this.#publish(row),
    notify: (notice, aborted) => this.#notify(notice, aborted),
  };
  readonly sent: Sending[] = [];
  readonly polls: Polling[] = [];
  /** Rows that were sent to the index, and what the operator was told, taken or not. */
  readonly published: IndexRow[] = [];
  readonly notices: OperatorNotice[] = [];
  isIndexDown = false;
  isOperatorDown = false;
  /** The operator does not answer before nobody waits any longer. */
  isOperatorHanging = false;
  /** Held until the test lets a write to the index end. */
  publishing: Promise<void> | null = null;
  readonly logs: LogLine[] = [];
  readonly writes: Write[] = [];
  /** Every record that was committed, in order. */
  readonly history: TaskRecord[] = [];
  readonly ledger = new ModelLedger();
  /** What the ledger was asked for, answered or not. */
  readonly charges: Charge[] = [];
  readonly refunds: Refund[] = [];
  /** Failures that were sent while their credits were not back. */
  readonly early: Delivery[] = [];
  outage: Outage | null = null;
  /** Held until the test lets a call reach the ledger, and until it lets the answer come back. */
  arriving: Promise<void> | null = null;
  answering: Promise<void> | null = null;
  /** What escaped background work. */
  readonly failures: unknown[] = [];
  /** Alarms that workerd would lose or refuse. */
  readonly badAlarms: number[] = [];
  clock = NOW;
  alarm: number | null = null;
  policyAt: (now: number) => Policy = () => POLICY;
  /** Which calls throw. */
  trouble: (call: Call) => boolean = () => false;
  /** Storage that says it wrote and did not. */
  isForgetful = false;
  /** Held until the test lets an erasure end. */
  erasing: Promise<void> = Promise.resolve();
  /** Whether an instance dies at the point that it has reached. */
  isDying: () => boolean = () => false;
  readonly #instances: SimulatedObject[] = [];
  #stored: TaskRecord | null = null;
  #ringing: number | null = null;
  #life = 0;

  now(): number {
    return this.clock;
  }

  policy(now: number): Policy {
    this.#try("policy");
    return this.policyAt(now);
  }

  load(): TaskRecord | null {
    this.#try("load");
    return this.stored;
  }

  commit(record: TaskRecord, alarmAt: number): void {
    this.#try("commit");
    this.writes.push("put");
    if (!this.isForgetful) this.#stored = structuredClone(record);
    this.history.push(record);
    this.setAlarm(alarmAt);
  }

  setAlarm(at: number): void {
    const after = Math.max(this.clock, this.#ringing ?? 0);
    if (at <= after || at > after + MAX_ALARM_AHEAD_MS) this.badAlarms.push(at);
    this.writes.push("alarm");
    this.alarm = at;
  }

  erase(): Promise<void> {
    this.writes.push("erase");
    this.#stored = null;
    this.alarm = null;
    return this.erasing;
  }

  async #send(delivery: Delivery): Promise<AttemptResult> {
    this.#try("send");
    const credits = this.#stored?.credits ?? null;
    const isBack = credits === null || this.ledger.gaveBack(delivery.taskId, credits.chargeId);
    if (delivery.status === "failed" && !isBack) this.early.push(delivery);
    const { promise, resolve } = Promise.withResolvers<AttemptResult>();
    const answer = (outcome: Outcome) =>
      resolve({ outcome, statusCode: null, responseExcerpt: null, retryAfter: null });
    this.sent.push({ delivery, answer });
    return promise;
  }

  async #charge(charge: Charge): Promise<ChargeAnswer> {
    this.#try("charge");
    this.charges.push(charge);
    return this.#ask(() => this.ledger.charge(charge), { kind: "unknown" });
  }

  async #refund(refund: Refund): Promise<boolean> {
    this.#try("refund");
    this.refunds.push(refund);
    return this.#ask(() => this.ledger.refund(refund), false);
  }

  async #poll(poll: Poll, aborted: AbortSignal): Promise<PollAnswer> {
    this.#try("poll");
    const { promise, resolve } = Promise.withResolvers<PollAnswer>();
    aborted.addEventListener("abort", () => resolve({ kind: "unanswered" }));
    this.polls.push({ poll, askedAt: this.clock, aborted, answer: resolve });
    return promise;
  }

  async #publish(row: IndexRow): Promise<boolean> {
    this.#try("publish");
    this.published.push(row);
    if (this.publishing !== null) await this.publishing;
    return !this.isIndexDown;
  }

  async #notify(notice: OperatorNotice, aborted: AbortSignal): Promise<boolean> {
    this.#try("notify");
    this.notices.push(notice);
    if (!this.isOperatorHanging) return !this.isOperatorDown;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    aborted.addEventListener("abort", () => resolve(false));
    return promise;
  }

  readonly escaped = (error: unknown) => this.failures.push(error);

  readonly log = (line: LogLine) => this.logs.push(line);

  /** The committed record, also while `load` throws. */
  get stored(): TaskRecord | null {
    return this.#stored === null ? null : parseRecord(structuredClone(this.#stored));
  }

  /** Numbers of the attempts that were sent. */
  get numbers(): readonly number[] {
    return this.sent.map(({ delivery }) => delivery.number);
  }

  /** Lets the loop go as far as it can, answers its request, and lets it go on. */
  async answer(outcome: Outcome, afterMs = 0): Promise<void> {
    await runMicrotasks();
    this.clock += afterMs;
    this.sent.at(-1)?.answer(outcome);
    await runMicrotasks();
  }

  /** Lets the loop go as far as it can, answers its question to the upstream, and lets it go on. */
  async answerPoll(answer: PollAnswer, afterMs = 0): Promise<void> {
    await runMicrotasks();
    this.clock += afterMs;
    this.polls.at(-1)?.answer(answer);
    await runMicrotasks();
  }

  /** Fires the alarm as the runtime and `TaskObject.alarm` do. @throws what escapes the loop. */
  async ring(loop: WorkLoop, lateByMs = 0): Promise<void> {
    const life = this.#life;
    const at = this.alarm;
    if (at === null) throw new Error("no alarm is set");
    this.alarm = null;
    this.#ringing = at;
    this.clock = Math.max(this.clock, at + lateByMs);
    try {
      await loop.wake(at);
    } catch (error) {
      if (life === this.#life) this.setAlarm(Math.max(this.clock, at) + RECOVERY_MS);
      throw error;
    } finally {
      if (life === this.#life) this.#ringing = null;
    }
  }

  /** Starts an instance of the object, with its work loop. */
  start(): { readonly instance: SimulatedObject; readonly loop: WorkLoop } {
    const instance = new SimulatedObject(this);
    this.#instances.push(instance);
    return { instance, loop: new WorkLoop(instance) };
  }

  newLoop(): WorkLoop {
    return this.start().loop;
  }

  /** Kills every instance of the object. */
  crash(): void {
    for (const instance of this.#instances.splice(0)) instance.isDead = true;
    this.died();
  }

  /** Requests get no answer any more, and an alarm that was running comes again. */
  died(): void {
    this.#life++;
    this.alarm ??= this.#ringing;
    this.#ringing = null;
  }

  /** Books even when the caller has died meanwhile, as the ledger does. */
  async #ask<T>(book: () => T, unknown: T): Promise<T> {
    if (this.arriving !== null) await this.arriving;
    const answer = this.outage === "deaf" ? unknown : book();
    if (this.answering !== null) await this.answering;
    return this.outage === null ? answer : unknown;
  }

  #try(call: Call): void {
    if (this.trouble(call)) throw new Error(`${call} is broken`);
  }
}

import { expect } from "vitest";
import type { Charge } from "../../../src/core/duties/charge.ts";
import type { Delivery } from "../../../src/core/duties/callback-attempt.ts";
import type { Poll } from "../../../src/core/duties/poll.ts";
import type { PollAnswer } from "../../../src/core/events/event.ts";
import type { ProgressCallback } from "../../../src/core/events/progress-callback.ts";
import type { Policy } from "../../../src/core/policy.ts";
import type { Outcome } from "../../../src/core/record/outcome.ts";
import type { TaskRecord } from "../../../src/core/record/task.ts";
import type { LogLine } from "../../../src/lib/log.ts";
import { parseRecord } from "../../../src/core/record/record-schema.ts";
import { WorkLoop } from "../../../src/objects/task/work-loop.ts";
import { SimulatedLedger } from "../../simulation/ledger.ts";
import { runMicrotasks } from "../../simulation/microtasks.ts";
import type { CallObserver, OpenCall } from "../../simulation/open-call.ts";
import {
  ANSWERED_OUTCOMES,
  Parties,
  POLL_ANSWERS,
  type SlowSender,
} from "../../simulation/parties.ts";
import { type CallName, type Host, SimulatedObject } from "../../simulation/simulated-object.ts";
import { requireStorable } from "../../simulation/storage-limit.ts";
import { DAY, NOW, POLICY } from "../builders.ts";

/** Operation of the host that a test can make throw. */
export type Operation = "load" | "policy" | "commit" | "alarm" | "send";

export const WATCHDOG_MS = 15_000;
const GRANTED = 1_000;
const RECOVERY_MS = 60_000;
const MAX_ALARM_AHEAD_MS = 30 * DAY;

/**
 * Storage, alarm and clock of one object. The host outlives the work loops that run on it, as storage outlives
 * the instances of an object. Attempts and polls stay open until the test ends them; other calls succeed at
 * once.
 */
export class MemoryHost implements Host, CallObserver {
  readonly ledger = new SimulatedLedger(GRANTED);
  readonly outside = new Parties(this.ledger, this, () => this.clock);
  /** Answers with which calls end, by kind of call; a call without an entry stays open. */
  endings: Partial<Record<CallName, number>> = {
    charge: 0,
    refund: 0,
    sendProgress: 0,
    release: 0,
    writeIndexRow: 0,
    sendNotice: 0,
    orderCopies: 0,
    leaveQueues: 0,
  };
  readonly sent: Delivery[] = [];
  readonly progress: ProgressCallback[] = [];
  readonly charges: Charge[] = [];
  readonly polls: Poll[] = [];
  readonly logs: LogLine[] = [];
  readonly writes: ("put" | "alarm" | "erase")[] = [];
  /** All records that were committed, oldest first. */
  readonly history: TaskRecord[] = [];
  /** Errors that background work has thrown and nothing has caught. */
  readonly failures: unknown[] = [];
  /** Times of alarms that workerd would lose or refuse. */
  readonly badAlarms: number[] = [];
  clock = NOW;
  alarm: number | null = null;
  policyAt: (now: number) => Policy = () => POLICY;
  /** Tells whether an operation throws. */
  isBroken: (operation: Operation) => boolean = () => false;
  /** States that the storage loses every record that it is given. */
  isForgetful = false;
  /** Promise for which the end of an erasure waits. */
  erasing: Promise<void> = Promise.resolve();
  #instance = new SimulatedObject(this);
  loop = new WorkLoop(this.#instance);
  #stored: TaskRecord | null = null;
  #runningAlarmAt: number | null = null;
  #crashes = 0;

  now(): number {
    return this.clock;
  }

  policy(now: number): Policy {
    this.#throwIfBroken("policy");
    return this.policyAt(now);
  }

  load(): TaskRecord | null {
    this.#throwIfBroken("load");
    return this.stored;
  }

  commit(record: TaskRecord, alarmAt: number | null): void {
    this.#throwIfBroken("commit");
    requireStorable(record);
    this.writes.push("put");
    if (!this.isForgetful) this.#stored = structuredClone(record);
    this.history.push(record);
    if (alarmAt !== null) this.setAlarm(alarmAt);
  }

  setAlarm(at: number): void {
    this.#throwIfBroken("alarm");
    const after = Math.max(this.clock, this.#runningAlarmAt ?? 0);
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

  isDying(): boolean {
    return false;
  }

  readonly uncaught = (error: unknown) => this.failures.push(error);

  readonly log = (line: LogLine) => this.logs.push(line);

  onSend(delivery: Delivery): void {
    this.#throwIfBroken("send");
    this.sent.push(delivery);
  }

  readonly onProgress = (callback: ProgressCallback) => this.progress.push(callback);

  readonly onCharge = (charge: Charge) => this.charges.push(charge);

  readonly onPoll = (poll: Poll) => this.polls.push(poll);

  onOpenCall(call: OpenCall): void {
    const ending = this.endings[call.what];
    if (ending !== undefined) call.end(ending);
  }

  /** The committed record, readable also while `load` throws. */
  get stored(): TaskRecord | null {
    return this.#stored === null ? null : parseRecord(structuredClone(this.#stored));
  }

  /** Numbers of the attempts that were sent. */
  get numbers(): readonly number[] {
    return this.sent.map(({ number }) => number);
  }

  /** Lets the loop run until it waits, ends its last attempt, and lets it run again. */
  async answer(outcome: Outcome, afterMs = 0): Promise<void> {
    await runMicrotasks();
    this.clock += afterMs;
    this.end("send", ANSWERED_OUTCOMES.indexOf(outcome));
    await runMicrotasks();
  }

  /** Lets the loop run until it waits, and lets the sender of its attempt go on without the object. */
  async defer(): Promise<SlowSender> {
    await runMicrotasks();
    this.outside.defer();
    await runMicrotasks();
    const sender = this.outside.senders.at(-1);
    if (sender === undefined) throw new Error("no attempt is sent");
    return sender;
  }

  /** Ends an attempt that the loop does not wait for, and reports the end. */
  async report(sender: SlowSender, outcome: Outcome, afterMs = 0): Promise<void> {
    this.clock += afterMs;
    if (sender.ended === null) this.outside.endSending(sender, outcome);
    if (sender.ended !== null) this.loop.endAttempt(sender.ended);
    await runMicrotasks();
  }

  /** Lets the loop run until it waits, answers its poll, and lets it run again. */
  async answerPoll(answer: PollAnswer, afterMs = 0): Promise<void> {
    await runMicrotasks();
    this.clock += afterMs;
    const isIt = (one: PollAnswer) => JSON.stringify(one) === JSON.stringify(answer);
    this.end("poll", POLL_ANSWERS.findIndex(isIt));
    await runMicrotasks();
  }

  /** Ends the last open call of a kind, if there is one. */
  end(what: CallName, ending = 0): void {
    this.outside.openCalls.findLast((call) => call.what === what)?.end(ending);
  }

  /**
   * Fires the alarm in the way of the platform and of `TaskObject.alarm`. @throws the error that the loop
   * throws.
   */
  async ring(lateByMs = 0): Promise<void> {
    const crashes = this.#crashes;
    const at = this.alarm;
    if (at === null) throw new Error("no alarm is set");
    this.alarm = null;
    this.#runningAlarmAt = at;
    this.clock = Math.max(this.clock, at + lateByMs);
    try {
      await this.loop.wake(at);
    } catch (error) {
      if (crashes === this.#crashes) this.setAlarm(Math.max(this.clock, at) + RECOVERY_MS);
      throw error;
    } finally {
      if (crashes === this.#crashes) this.#runningAlarmAt = null;
    }
  }

  /** Fires the alarm while an attempt is due, and ends this attempt with an outcome. */
  async ringAndAnswer(outcome: Outcome, afterMs = 0): Promise<void> {
    const rung = this.ring();
    await this.answer(outcome, afterMs);
    await rung;
  }

  /** Starts another instance of the object, which gets all further alarms. The old instance stays alive. */
  restart(): void {
    this.#instance = new SimulatedObject(this);
    this.loop = new WorkLoop(this.#instance);
  }

  /** Kills the instance and starts another one. */
  crash(): void {
    this.#instance.die();
    this.restart();
  }

  /**
   * Records that an instance has died: its calls get no answer, and an alarm whose handler was running fires
   * again.
   */
  died(): void {
    this.#crashes++;
    this.alarm ??= this.#runningAlarmAt;
    this.#runningAlarmAt = null;
    this.outside.abandonCalls();
  }

  expectNoFailure(): void {
    expect(this.badAlarms).toEqual([]);
    expect(this.failures).toEqual([]);
  }

  #throwIfBroken(operation: Operation): void {
    if (this.isBroken(operation)) throw new Error(`${operation} is broken`);
  }
}

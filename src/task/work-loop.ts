import type { AttemptResult, ChargeAnswer, TaskEvent } from "../core/events/event.ts";
import type { Decision } from "../core/events/decision.ts";
import type { Policy } from "../core/policy.ts";
import { type Delivery, nextStep, type Step, wakeAt } from "../core/step.ts";
import { isOpen, isTerminal, type TaskRecord } from "../core/record/task.ts";
import { transition } from "../core/transition.ts";
import { makeCall, type CallStep } from "./calls.ts";
import type { Platform } from "./platform.ts";

/** What the ledger said to which charge. */
export interface AnsweredCharge {
  readonly chargeId: string;
  readonly answer: ChargeAnswer;
}

// The platform's alarms reach less than 30 days; further times are reached in hops.
const MAX_ALARM_AHEAD_MS = 29 * 86_400_000;
const OVERDUE_MS = 60_000;
// A task has a few steps between two sleeps; so many are a core that contradicts itself.
const MAX_STEPS_PER_RUN = 100;
const INTERRUPTED: AttemptResult = {
  outcome: "interrupted",
  statusCode: null,
  responseExcerpt: null,
};

/**
 * The loop around the pure core: load, ask, commit, act. One per object instance. Nothing read before
 * an `await` is written after it: every result goes through `apply`, onto the record as it then is.
 */
export class WorkLoop {
  readonly #platform: Platform;
  #running = false;
  #finished: Promise<void> = Promise.resolve();
  /** The attempt that a commit of this instance opened and that nobody has sent yet. */
  #ownAttempt: number | null = null;
  /** What the pending alarm was asked for; null when this instance does not know. */
  #armedFor: number | null = null;
  /** Scheduled time of the running alarm. */
  #alarmTime = 0;
  /** It does not go back while an instance lives, whatever the machine's clock does. */
  #clock = 0;
  #lastCharge: AnsweredCharge | null = null;
  #callInFlight: AbortController | null = null;

  constructor(platform: Platform) {
    this.#platform = platform;
  }

  /** Applies an event to the record as it is now and starts whatever became due. */
  apply(event: TaskEvent): Decision {
    const now = this.#now();
    const policy = this.#platform.policy(now);
    const before = this.#platform.load();
    const decision = transition(before, event, policy, now);
    if (decision.kind === "commit") this.#commit(before, decision.record, policy, now);
    return decision;
  }

  /** Applies an event that may end the record. */
  async applyAndErase(event: TaskEvent): Promise<Decision> {
    const decision = this.apply(event);
    if (decision.kind === "erase") {
      this.#armedFor = null;
      // A later life of the id is newer than this one, even within the same millisecond.
      this.#clock = Math.max(this.#clock, (this.#platform.load()?.version ?? 0) + 1);
      await this.#platform.erase();
    }
    return decision;
  }

  /** Works, or joins the work, until nothing is due; tells how the ledger last answered this instance. */
  async runUntilIdle(): Promise<AnsweredCharge | null> {
    do await this.#start();
    while (this.#running);
    return this.#lastCharge;
  }

  /** The record for a reader. Writes nothing, except to re-arm one whose alarm never came. */
  read(): TaskRecord | null {
    const record = this.#platform.load();
    if (record === null || this.#running) return record;
    const now = this.#now();
    const wake = wakeAt(record, this.#platform.policy(now));
    if (wake < now - OVERDUE_MS) this.#platform.setAlarm(this.#armable(now, now));
    return record;
  }

  /** Runs the loop from an alarm, or joins it: an alarm that returned earlier could not bring it back. */
  async wake(scheduledTime: number): Promise<void> {
    this.#alarmTime = scheduledTime;
    this.#armedFor = null;
    try {
      await this.runUntilIdle();
    } finally {
      this.#alarmTime = 0;
    }
  }

  #start(): Promise<void> {
    if (!this.#running) {
      this.#running = true;
      this.#finished = this.#run();
    }
    return this.#finished;
  }

  async #run(): Promise<void> {
    try {
      for (let steps = 0; steps < MAX_STEPS_PER_RUN; steps++) {
        const record = this.#platform.load();
        if (record === null) return;
        const now = this.#now();
        const policy = this.#platform.policy(now);
        const step = nextStep(record, policy, now);
        if (step === null) {
          const wake = wakeAt(record, policy);
          if (this.#armedFor !== wake) this.#platform.setAlarm(this.#arm(wake, now));
          return;
        }
        await this.#perform(step);
      }
      throw new Error("the work loop does not come to rest");
    } finally {
      // In the same turn in which nothing was due, or the next event would find a loop that has ended.
      this.#running = false;
    }
  }

  async #perform(step: Step): Promise<void> {
    switch (step.kind) {
      case "charge":
      case "poll":
      case "refund":
      case "publish":
      case "notify":
        await this.#call(step);
        return;
      case "deadline":
        this.apply({ type: "deadline" });
        return;
      case "start_attempt":
        this.apply({ type: "attempt_started" });
        return;
      case "send":
        await this.#send(step.delivery);
        return;
      case "expire":
        await this.applyAndErase({ type: "erase" });
        return;
    }
  }

  async #call(step: CallStep): Promise<void> {
    const aborter = new AbortController();
    this.#callInFlight = aborter;
    const { event, line } = await makeCall(step, this.#platform, aborter.signal, this.#now());
    this.#callInFlight = null;
    if (event.type === "charge_ended") this.#lastCharge = event;
    await this.applyAndErase(event);
    this.#platform.log(line);
  }

  async #send(delivery: Delivery): Promise<void> {
    const { number } = delivery;
    // An open attempt of an earlier instance: it may have arrived or not, and it counts.
    const isOwn = this.#ownAttempt === number;
    this.#ownAttempt = null;
    const result = isOwn ? await this.#platform.send(delivery) : INTERRUPTED;
    const decision = this.apply({ type: "attempt_ended", number, ...result });
    this.#platform.log({
      event: "callback.attempt",
      task_id: delivery.taskId,
      number,
      outcome: result.outcome,
      status_code: result.statusCode,
      ...(result.retryAfter !== undefined && { retry_after: result.retryAfter }),
      duration_ms: Math.max(0, this.#now() - delivery.startedAt),
      recorded: decision.kind === "commit",
    });
  }

  #commit(before: TaskRecord | null, record: TaskRecord, policy: Policy, now: number): void {
    const isDue = nextStep(record, policy, now) !== null;
    const alarmAt = isDue ? now + this.#platform.watchdogMs : wakeAt(record, policy);
    const opened = openAttempt(record);
    this.#platform.commit(record, this.#arm(alarmAt, now));
    // Nothing may delay the first attempt.
    if (!isOpen(record)) this.#callInFlight?.abort();
    if (opened !== null && opened !== openAttempt(before)) this.#ownAttempt = opened;
    if (isDue && !this.#running) this.#platform.background(this.#start());
  }

  #arm(at: number, now: number): number {
    this.#armedFor = at;
    return this.#armable(at, now);
  }

  // An alarm at or before the running one, or now, can be lost (workerd #6866).
  #armable(at: number, now: number): number {
    return Math.min(Math.max(at, now + 1), now + MAX_ALARM_AHEAD_MS);
  }

  #now(): number {
    this.#clock = Math.max(this.#clock, this.#platform.now(), this.#alarmTime);
    return this.#clock;
  }
}

function openAttempt(record: TaskRecord | null): number | null {
  if (record === null || !isTerminal(record) || record.callback === null) return null;
  const { state } = record.callback;
  return state.kind === "in_flight" ? state.number : null;
}

import type { PollAnswer, TaskEvent } from "../../src/core/events/event.ts";
import type { Outcome } from "../../src/core/record/outcome.ts";
import { WorkLoop } from "../../src/task/work-loop.ts";
import { aCompletion, aPolicy, POLICY } from "./builders.ts";
import type { Call, Outage } from "./memory-calls.ts";
import { MemoryPlatform } from "./memory-platform.ts";
import { told } from "./upstream-builders.ts";

/** What happens to an object, from outside or underneath. */
export type Action =
  | { readonly kind: "event"; readonly event: TaskEvent }
  | { readonly kind: "answer"; readonly outcome: Outcome; readonly afterMs: number }
  | { readonly kind: "poll"; readonly answer: PollAnswer; readonly afterMs: number }
  | { readonly kind: "ring"; readonly lateByMs: number }
  | { readonly kind: "read" | "crash" | "repair" }
  | { readonly kind: "clock"; readonly byMs: number }
  | { readonly kind: "break"; readonly call: Call; readonly nth: number }
  | { readonly kind: "ledger"; readonly outage: Outage | "late" | null }
  | { readonly kind: "grant"; readonly amount: number }
  | { readonly kind: "policy"; readonly scheduleMs: readonly number[]; readonly holdMs: number };

/** One object under its platform, which may crash, break and come back. */
export class Life {
  readonly platform = new MemoryPlatform();
  loop = new WorkLoop(this.platform);
  #ring: Promise<void> | null = null;
  #orders = 0;
  #release = () => {};

  async do(action: Action): Promise<void> {
    switch (action.kind) {
      case "event":
        void this.#guarded(async () => this.loop.applyAndErase(this.#ordered(action.event)));
        return;
      case "read":
        return this.#guarded(() => this.loop.read());
      case "answer":
        return this.platform.answer(action.outcome, action.afterMs);
      case "poll":
        return this.platform.answerPoll(action.answer, action.afterMs);
      case "ring":
        return this.#startRinging(action.lateByMs);
      case "crash":
        return this.#crash();
      case "ledger":
        return this.#setLedger(action.outage);
      case "grant":
        this.platform.ledger.granted += action.amount;
        return;
      case "clock":
        this.platform.clock += action.byMs;
        return;
      case "repair":
        this.platform.trouble = () => false;
        return;
      case "break": {
        let calls = 0;
        this.platform.trouble = (call) => call === action.call && ++calls >= action.nth;
        return;
      }
      case "policy": {
        const { scheduleMs, holdMs } = action;
        this.platform.policyAt = (now) =>
          aPolicy({ scheduleMs, pausedUntil: holdMs === 0 ? 0 : now + holdMs });
      }
    }
  }

  /** Everything works again, receivers refuse: the task must come to its end by its alarms alone. */
  async drain(upstream: () => PollAnswer = () => told(aCompletion())): Promise<void> {
    this.platform.trouble = () => false;
    this.platform.policyAt = () => POLICY;
    this.#setLedger(null);
    this.#crash();
    for (let i = 0; i < 40 && this.platform.stored !== null; i++) {
      this.#startRinging(0);
      await this.platform.answerPoll(upstream());
      await this.platform.answer("rejected");
    }
  }

  /** The alarm's handler runs one at a time. */
  #startRinging(lateByMs: number): void {
    if (this.#ring !== null || this.platform.alarm === null) return;
    const ended = () => {
      if (this.#ring === rung) this.#ring = null;
    };
    const rung: Promise<void> = this.platform.ring(this.loop, lateByMs).then(ended, ended);
    this.#ring = rung;
  }

  #crash(): void {
    this.platform.crash();
    this.loop = new WorkLoop(this.platform);
    this.#ring = null;
  }

  /** Every registration brings a charge id of its own. */
  #ordered(event: TaskEvent): TaskEvent {
    if (event.type !== "register" || event.chargeId === null) return event;
    return { ...event, chargeId: `charge-${++this.#orders}` };
  }

  /** A ledger that is late answers when its state changes again, unless its caller is dead. */
  #setLedger(outage: Outage | "late" | null): void {
    this.#release();
    this.#release = () => {};
    this.platform.answering = null;
    this.platform.outage = outage === "late" ? null : outage;
    if (outage !== "late") return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.platform.answering = promise;
    this.#release = resolve;
  }

  async #guarded(work: () => unknown): Promise<void> {
    try {
      await work();
    } catch {
      // A broken call escapes to the caller, who tries again.
    }
  }

  get isRinging(): boolean {
    return this.#ring !== null;
  }
}

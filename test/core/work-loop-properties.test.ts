import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { TaskEvent } from "../../src/core/event.ts";
import { OUTCOMES, type Outcome } from "../../src/core/outcome.ts";
import { wakeAt } from "../../src/core/step.ts";
import { isTerminal, type TaskRecord } from "../../src/core/task.ts";
import { WorkLoop } from "../../src/objects/work-loop.ts";
import {
  aCompletion,
  aCreation,
  aFailure,
  aPolicy,
  aRedelivery,
  aRegistration,
  aReport,
  DAY,
  MINUTE,
  NOW,
  POLICY,
  URL_B,
} from "./builders.ts";
import { type Call, MemoryPlatform, turns } from "./memory-platform.ts";

type Action =
  | { readonly kind: "event"; readonly event: TaskEvent }
  | { readonly kind: "answer"; readonly outcome: Outcome; readonly afterMs: number }
  | { readonly kind: "ring"; readonly lateByMs: number }
  | { readonly kind: "read" | "crash" | "repair" }
  | { readonly kind: "clock"; readonly byMs: number }
  | { readonly kind: "break"; readonly call: Call; readonly nth: number }
  | { readonly kind: "policy"; readonly scheduleMs: readonly number[]; readonly holdMs: number };

const events: TaskEvent[] = [
  aRegistration(),
  aRegistration({ deadlineAt: NOW + 70 * DAY }),
  aReport(aCompletion(), aCreation()),
  aReport(aFailure(), aCreation({ callbackUrl: null })),
];
const orders: TaskEvent[] = [
  aRedelivery(),
  aRedelivery({ attempts: 3, idempotencyKey: "k" }),
  aRedelivery({ callbackUrl: URL_B }),
];

const event = (those: readonly TaskEvent[]) =>
  fc.constantFrom(...those).map((chosen): Action => ({ kind: "event", event: chosen }));
const kinds = (...those: ("read" | "crash" | "repair")[]) =>
  fc.constantFrom(...those).map((kind): Action => ({ kind }));
const answer = fc
  .record({ outcome: fc.constantFrom(...OUTCOMES), afterMs: fc.constantFrom(0, 1, 10_000) })
  .map((given): Action => ({ kind: "answer", ...given }));
const ring = fc
  .constantFrom(0, -5, 1, MINUTE, DAY)
  .map((lateByMs): Action => ({ kind: "ring", lateByMs }));
const clock = fc
  .constantFrom(1, MINUTE, -1, -MINUTE)
  .map((byMs): Action => ({ kind: "clock", byMs }));
const trouble = fc
  .record({
    call: fc.constantFrom<Call>("load", "policy", "send", "commit"),
    nth: fc.integer({ min: 1, max: 4 }),
  })
  .map((given): Action => ({ kind: "break", ...given }));
const policy = fc
  .record({
    scheduleMs: fc.array(fc.constantFrom(0, 1, MINUTE), { minLength: 1, maxLength: 3 }),
    holdMs: fc.constantFrom(0, 0, MINUTE),
  })
  .map((given): Action => ({ kind: "policy", ...given }));

const actions = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.oneof(answer, ring) },
    { weight: 2, arbitrary: fc.oneof(event(events), event(orders)) },
    { weight: 1, arbitrary: fc.oneof(kinds("read", "repair"), clock, policy) },
    { weight: 1, arbitrary: fc.oneof(kinds("crash"), trouble) },
  ),
  { maxLength: 40, size: "max" },
);

/** One object under its platform, which may crash, break and come back. */
class Life {
  readonly platform = new MemoryPlatform();
  loop = new WorkLoop(this.platform);
  #ring: Promise<void> | null = null;

  async do(action: Action): Promise<void> {
    switch (action.kind) {
      case "event":
        return this.#guarded(() => this.loop.apply(action.event));
      case "read":
        return this.#guarded(() => this.loop.read());
      case "answer":
        return this.platform.answer(action.outcome, action.afterMs);
      case "ring":
        return this.#startRinging(action.lateByMs);
      case "crash":
        return this.#crash();
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
          aPolicy({ scheduleMs, holdUntil: holdMs === 0 ? 0 : now + holdMs });
      }
    }
  }

  /** Everything works again, receivers refuse: the task must come to its end by its alarms alone. */
  async drain(): Promise<void> {
    this.platform.trouble = () => false;
    this.platform.policyAt = () => POLICY;
    this.#crash();
    for (let i = 0; i < 40 && this.platform.stored !== null; i++) {
      this.#startRinging(0);
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

  #guarded(work: () => unknown): void {
    try {
      work();
    } catch {
      // A broken call escapes to the caller, who tries again.
    }
  }

  get isRinging(): boolean {
    return this.#ring !== null;
  }
}

function checkAlways({ platform, isRinging }: Life): void {
  expect(platform.badAlarms).toEqual([]);
  const { stored, numbers } = platform;
  expect(new Set(numbers).size).toBe(numbers.length);
  if (stored === null) return;
  expect(platform.alarm !== null || isRinging).toBe(true);
  expect(platform.alarm ?? 0).toBeLessThanOrEqual(latestAlarm(platform, stored));
  if (!isTerminal(stored) || stored.callback === null) return;
  const { series, lastNumber } = stored.callback;
  expect(series.started).toBeLessThanOrEqual(3);
  expect(Math.max(0, ...numbers)).toBeLessThanOrEqual(lastNumber);
}

// After a fault, or when a pause ends, the alarm may be late by the minute after which it looks again.
function latestAlarm(platform: MemoryPlatform, record: TaskRecord): number {
  const wake = wakeAt(record, platform.policyAt(platform.clock));
  return Math.max(wake, platform.latestClock) + MINUTE;
}

describe("an object under any sequence of events, answers, alarms, crashes and faults", () => {
  it("sends no attempt twice, is never without an alarm in time, and comes to its end by itself", async () => {
    await fc.assert(
      fc.asyncProperty(actions, async (sequence) => {
        const life = new Life();
        for (const action of sequence) {
          await life.do(action);
          await turns();
          checkAlways(life);
          // A second life would count its attempts from 1 again.
          if (life.platform.writes.includes("erase")) return;
        }
        await life.drain();
        expect(life.platform.stored).toBeNull();
        expect(life.platform.badAlarms).toEqual([]);
      }),
      { numRuns: 1_000 },
    );
  });
});

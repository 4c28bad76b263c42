import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { TaskEvent } from "../../src/core/events/event.ts";
import { OUTCOMES } from "../../src/core/record/outcome.ts";
import { wakeAt } from "../../src/core/step.ts";
import { isTerminal, type TaskRecord } from "../../src/core/record/task.ts";
import {
  aCompletion,
  aCreation,
  aFailure,
  aRedelivery,
  aRegistration,
  aReport,
  CONNECTION,
  DAY,
  MINUTE,
  NOW,
  URL_B,
} from "./builders.ts";
import { aPricedRegistration, aSettledRegistration, PRICE } from "./credit-builders.ts";
import { type Action, Life } from "./life.ts";
import type { Call, Outage } from "./memory-calls.ts";
import { type MemoryPlatform, turns } from "./memory-platform.ts";
import { GRANTED } from "./model-ledger.ts";
import { checkBooks } from "./saga.ts";
import { aProvidedRegistration, JOB } from "./upstream-builders.ts";
import { attachments, hooks, pollAnswers } from "./world-upstream.ts";

const SEED = 20_261_020;
/** For a machine that does other things too. */
const TIMEOUT = 60_000;

const events: TaskEvent[] = [
  aRegistration(),
  aRegistration({ deadlineAt: NOW + 70 * DAY }),
  aReport(aCompletion(), aCreation()),
  aReport(aFailure(), aCreation({ callbackUrl: null })),
  aReport(aFailure()),
  { type: "cancel" },
];
const prices: TaskEvent[] = [
  aPricedRegistration(),
  aPricedRegistration({ callbackUrl: null }),
  aPricedRegistration({ deadlineAt: NOW + MINUTE }),
  aSettledRegistration(),
];
const orders: TaskEvent[] = [
  aRedelivery(),
  aRedelivery({ attempts: 3, idempotencyKey: "k" }),
  aRedelivery({ callbackUrl: URL_B }),
];

const provided: TaskEvent[] = [
  aProvidedRegistration(),
  aProvidedRegistration({ job: JOB }),
  aProvidedRegistration({ provider: "fal" }),
  aPricedRegistration({ provider: CONNECTION, job: JOB }),
  aProvidedRegistration({ deadlineAt: NOW + MINUTE, job: JOB }),
];

const event = (those: readonly TaskEvent[]) =>
  fc.constantFrom(...those).map((chosen): Action => ({ kind: "event", event: chosen }));
const kinds = (...those: ("read" | "crash" | "repair")[]) =>
  fc.constantFrom(...those).map((kind): Action => ({ kind }));
const answer = fc
  .record({ outcome: fc.constantFrom(...OUTCOMES), afterMs: fc.constantFrom(0, 1, 10_000) })
  .map((given): Action => ({ kind: "answer", ...given }));
const poll = fc
  .record({ answer: pollAnswers, afterMs: fc.constantFrom(0, 1, 10_000) })
  .map((given): Action => ({ kind: "poll", ...given }));
const upstreaming = fc
  .oneof(hooks, attachments, fc.constantFrom(...provided))
  .map((chosen): Action => ({ kind: "event", event: chosen }));
const ring = fc
  .constantFrom(0, -5, 1, MINUTE, DAY)
  .map((lateByMs): Action => ({ kind: "ring", lateByMs }));
const clock = fc
  .constantFrom(1, MINUTE, -1, -MINUTE)
  .map((byMs): Action => ({ kind: "clock", byMs }));
const trouble = fc
  .record({
    call: fc.constantFrom<Call>("load", "policy", "send", "commit", "charge", "refund", "poll"),
    nth: fc.integer({ min: 1, max: 4 }),
  })
  .map((given): Action => ({ kind: "break", ...given }));
const policy = fc
  .record({
    scheduleMs: fc.array(fc.constantFrom(0, 1, MINUTE), { minLength: 1, maxLength: 3 }),
    holdMs: fc.constantFrom(0, 0, MINUTE),
  })
  .map((given): Action => ({ kind: "policy", ...given }));

const ledger = fc
  .constantFrom<Outage | "late" | null>("deaf", "mute", "late", null, null)
  .map((outage): Action => ({ kind: "ledger", outage }));
const grant = fc.constant<Action>({ kind: "grant", amount: PRICE });
const purse = fc.constantFrom(0, PRICE, GRANTED);

const actions = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.oneof(answer, ring, poll) },
    { weight: 2, arbitrary: fc.oneof(event(events), event(orders), event(prices)) },
    { weight: 3, arbitrary: upstreaming },
    { weight: 1, arbitrary: fc.oneof(ledger, ledger, grant) },
    { weight: 1, arbitrary: fc.oneof(kinds("read", "repair"), clock, policy) },
    { weight: 1, arbitrary: fc.oneof(kinds("crash"), trouble) },
  ),
  { maxLength: 40, size: "max" },
);

function checkAlways({ platform, isRinging }: Life): void {
  expect(platform.badAlarms).toEqual([]);
  const { stored, numbers } = platform;
  expect(new Set(numbers).size).toBe(numbers.length);
  expect(platform.early).toEqual([]);
  expect(platform.ledger.balance).toBeGreaterThanOrEqual(0);
  if (stored === null) return;
  expect(platform.alarm !== null || isRinging).toBe(true);
  expect(platform.alarm ?? 0).toBeLessThanOrEqual(latestAlarm(platform, stored));
  if (!isTerminal(stored) || stored.callback === null) return;
  const { series, lastNumber } = stored.callback;
  expect(series.started).toBeLessThanOrEqual(3);
  expect(Math.max(0, ...numbers)).toBeLessThanOrEqual(lastNumber);
}

/** A task that was there is gone; one that was refused never was. */
function hasEnded({ platform: { stored, history } }: Life): boolean {
  const last = history.at(-1);
  return stored === null && last !== undefined && last.status !== "charging";
}

// After a fault, or when a pause ends, the alarm may be late by the minute after which it looks again.
function latestAlarm(platform: MemoryPlatform, record: TaskRecord): number {
  const wake = wakeAt(record, platform.policyAt(platform.clock));
  return Math.max(wake, platform.latestClock) + MINUTE;
}

describe("an object under any sequence of events, answers, alarms, crashes and faults", () => {
  it(
    "sends no attempt twice, is never without an alarm in time, and comes to its end by itself, its books balanced",
    async () => {
      await fc.assert(
        fc.asyncProperty(actions, purse, async (sequence, granted) => {
          const life = new Life();
          life.platform.ledger.granted = granted;
          for (const [i, action] of sequence.entries()) {
            await life.do(action);
            await turns();
            checkAlways(life);
            // Whatever happens has at most one poll begin: the loop does not spin.
            expect(life.platform.polls.length).toBeLessThanOrEqual(i + 1);
            // A second life would count its attempts from 1 again.
            if (hasEnded(life)) return checkBooks(life.platform);
          }
          await life.drain();
          expect(life.platform.stored).toBeNull();
          expect([life.platform.badAlarms, life.platform.early]).toEqual([[], []]);
          checkBooks(life.platform);
        }),
        { numRuns: 400, seed: SEED },
      );
    },
    TIMEOUT,
  );
});

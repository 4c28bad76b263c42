import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Callback, isSettled } from "../../src/core/callback.ts";
import type { TaskEvent } from "../../src/core/event.ts";
import { OUTCOMES } from "../../src/core/outcome.ts";
import type { Result } from "../../src/core/result.ts";
import type { Policy } from "../../src/core/schedule.ts";
import { nextStep, wakeAt } from "../../src/core/step.ts";
import { isTerminal, type TaskRecord } from "../../src/core/task.ts";
import { transition } from "../../src/core/transition.ts";
import { parseRecord } from "../../src/objects/record-schema.ts";
import {
  aCompletion,
  aCreation,
  aFailure,
  anEndAs,
  aPolicy,
  aRedelivery,
  aRegistration,
  aReport,
  DAY,
  HOUR,
  MINUTE,
  NOW,
  PROCESSING,
  URL_A,
  URL_B,
  VIDEO,
} from "./builders.ts";

type Command =
  | { readonly kind: "event"; readonly event: TaskEvent }
  /** What the work loop would do now. */
  | { readonly kind: "step" }
  | { readonly kind: "wake" }
  | { readonly kind: "clock"; readonly byMs: number }
  | { readonly kind: "policy"; readonly scheduleMs: readonly number[]; readonly holdMs: number };

interface World {
  readonly record: TaskRecord | null;
  readonly policy: Policy;
  readonly now: number;
  /** The longest schedule that was in force since the record began. */
  readonly longest: number;
}

const results: Result[] = [
  aCompletion(),
  aCompletion({ urls: [VIDEO, URL_A], completedAt: NOW }),
  aCompletion({ metadata: { seed: 1, 7: "x" } }),
  aFailure(),
  aFailure("other", ""),
];
const url = fc.constantFrom(null, URL_A, URL_B);

const registering = fc
  .record({ callbackUrl: url, deadlineAt: fc.constantFrom(null, NOW + MINUTE, NOW + DAY) })
  .map(aRegistration);

const creation = fc.option(
  fc
    .record({ callbackUrl: url, callbackUrlRefusal: fc.constantFrom(null, null, "refused") })
    .map(aCreation),
);
const report = fc
  .tuple(fc.constantFrom(PROCESSING, ...results), creation)
  .map(([news, created]) => aReport(news, created));

const ending = fc
  .tuple(fc.integer({ min: 0, max: 12 }), fc.constantFrom(...OUTCOMES))
  .map(([number, outcome]) => anEndAs(number, outcome));

const redelivery = fc
  .record({
    attempts: fc.integer({ min: 1, max: 3 }),
    callbackUrl: url,
    idempotencyKey: fc.constantFrom(null, "k1", "k2"),
  })
  .map(aRedelivery);

const simple = fc.constantFrom<TaskEvent>(
  { type: "deadline" },
  { type: "attempt_started" },
  { type: "erase" },
);

const wait = fc.constantFrom(0, 1, 180_000, 600_000, HOUR);
const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 5, arbitrary: fc.oneof(registering, report, ending, redelivery, simple).map(asEvent) },
  { weight: 3, arbitrary: fc.constantFrom<Command>({ kind: "step" }, { kind: "wake" }) },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom(1, MINUTE, HOUR, 40 * DAY, -1, -MINUTE, -DAY)
      .map((byMs): Command => ({ kind: "clock", byMs })),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.array(wait, { minLength: 1, maxLength: 5 }), fc.constantFrom(0, 0, 75_000))
      .map(([scheduleMs, holdMs]): Command => ({ kind: "policy", scheduleMs, holdMs })),
  },
);
const commands = fc.array(command, { maxLength: 60, size: "max" });

function asEvent(event: TaskEvent): Command {
  return { kind: "event", event };
}

const BEGINNING: World = { record: null, policy: aPolicy(), now: NOW, longest: 3 };

function eventOf(world: World, given: Command): TaskEvent | null {
  if (given.kind === "event") return given.event;
  if (given.kind !== "step" || world.record === null) return null;
  const step = nextStep(world.record, world.policy, world.now);
  switch (step?.kind) {
    case undefined:
      return null;
    case "deadline":
      return { type: "deadline" };
    case "start_attempt":
      return { type: "attempt_started" };
    case "send":
      return anEndAs(
        step.delivery.number,
        step.delivery.number % 4 === 0 ? "delivered" : "timeout",
      );
    case "expire":
      return { type: "erase" };
  }
}

function next(world: World, given: Command): World {
  const { record, policy, now, longest } = world;
  if (given.kind === "clock") return { ...world, now: now + given.byMs };
  if (given.kind === "wake") {
    return record === null ? world : { ...world, now: Math.max(now, wakeAt(record, policy)) };
  }
  if (given.kind === "policy") {
    const { scheduleMs, holdMs } = given;
    const holdUntil = holdMs === 0 ? 0 : now + holdMs;
    const most = Math.max(longest, scheduleMs.length);
    return { ...world, policy: aPolicy({ scheduleMs, holdUntil }), longest: most };
  }
  const event = eventOf(world, given);
  if (event === null) return world;
  const decision = transition(record, event, policy, now);
  switch (decision.kind) {
    case "commit":
      return { ...world, record: decision.record };
    case "erase":
      return { ...world, record: null, longest: policy.scheduleMs.length };
    case "nothing":
      expect(decision.record).toBe(record);
      return world;
    case "reject":
      if ("task" in decision.rejection) expect(decision.rejection.task).toBe(record);
      return world;
  }
}

/** What holds of any record, however it came about. */
function checkRecord({ record, policy, longest }: World): void {
  if (record === null) return;
  const wake = wakeAt(record, policy);
  expect(Number.isFinite(wake)).toBe(true);
  expect(nextStep(record, policy, wake)).not.toBeNull();
  expect(nextStep(record, policy, wake - 1)).toBeNull();
  expect(wake).toBe(dutyTime(record, policy));
  if (!isTerminal(record) || record.callback === null) return;
  const { attempts, lastNumber, series, state } = record.callback;
  expect(series.started).toBeLessThanOrEqual(series.ordered ?? longest);
  expect(attempts.length).toBeLessThanOrEqual(20);
  const open = state.kind === "in_flight" ? [state.number] : [];
  const numbers = [...attempts.map(({ number }) => number), ...open];
  expect(numbers).toEqual(numbers.map((_, i) => lastNumber - numbers.length + 1 + i));
}

/** When the record's one duty is due, told independently of the core. */
function dutyTime(record: TaskRecord, policy: Policy): number {
  if (!isTerminal(record)) return record.deadlineAt;
  const state = record.callback?.state;
  if (state?.kind === "due") return Math.max(state.nextAttemptAt, policy.holdUntil);
  return state?.kind === "in_flight" ? state.startedAt : record.expiresAt;
}

/** What holds between a record and what became of it. */
function checkChange(before: World, after: World, given: Command): void {
  const [was, is] = [before.record, after.record];
  if (was === null || is === null || was === is) return;
  expect(is.version).toBeGreaterThan(was.version);
  const { id, model, account, createdAt, origin, registration } = was;
  expect(is).toMatchObject({ id, model, account, createdAt, origin, registration });
  if (!isTerminal(was)) return;
  const { status, body, failure } = was;
  expect(is).toMatchObject({ status, body, failure });
  if (isTerminal(is)) checkCallback(was.callback, is.callback, given);
}

function checkCallback(was: Callback | null, is: Callback | null, given: Command): void {
  const isOrder = given.kind === "event" && given.event.type === "redeliver";
  expect(isSettled(was)).toBe(isOrder);
  const [before, after] = [was ?? NEVER_SENT, is ?? NEVER_SENT];
  expect([0, 1]).toContain(after.lastNumber - before.lastNumber);
  expect(after.series.number - before.series.number).toBe(isOrder ? 1 : 0);
  if (before.deliveredAt !== null) expect(after.deliveredAt).toBe(before.deliveredAt);
}

const NEVER_SENT = { lastNumber: 0, series: { number: 1 }, deliveredAt: null };

function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  Object.values(value).forEach(deepFreeze);
  return value;
}

describe("any sequence of events", () => {
  it("leaves a record for which every rule holds, after every step", () => {
    fc.assert(
      fc.property(commands, (sequence) => {
        let world = BEGINNING;
        for (const given of sequence) {
          const before = deepFreeze(world);
          world = next(before, deepFreeze(given));
          checkRecord(world);
          checkChange(before, world, given);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it("gives the same record when it is replayed, and one that can be read again", () => {
    fc.assert(
      fc.property(commands, (sequence) => {
        const once = sequence.reduce(next, BEGINNING);
        expect(sequence.reduce(next, BEGINNING)).toEqual(once);
        const { record } = once;
        if (record !== null) expect(parseRecord(structuredClone(record))).toEqual(record);
      }),
      { numRuns: 500 },
    );
  });
});

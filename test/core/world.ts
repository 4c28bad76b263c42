import * as fc from "fast-check";
import { expect } from "vitest";
import type { ChargeAnswer, PollAnswer, TaskEvent } from "../../src/core/events/event.ts";
import { OUTCOMES } from "../../src/core/record/outcome.ts";
import type { UpstreamResult } from "../../src/core/record/callback-body.ts";
import type { Policy } from "../../src/core/policy.ts";
import { nextStep, wakeAt } from "../../src/core/step.ts";
import { isOpen, type TaskRecord } from "../../src/core/record/task.ts";
import { transition } from "../../src/core/transition.ts";
import * as build from "./builders.ts";
import * as priced from "./credit-builders.ts";
import { ASKED_AFTER_ALL, JOB, OTHER_JOB } from "./upstream-builders.ts";
import { performed } from "./world-steps.ts";
import { attachments, hooks, keys, pollAnswers } from "./world-upstream.ts";

const { DAY, HOUR, MINUTE, NOW, URL_A, URL_B } = build;

export type Command =
  | { readonly kind: "event"; readonly event: TaskEvent }
  /** The ledger answers the charge that is open, or one that nobody waits for. */
  | { readonly kind: "charge_end"; readonly answer: ChargeAnswer; readonly isStale: boolean }
  /** The upstream answers after the attached job, or after one that nobody asks for. */
  | { readonly kind: "poll_end"; readonly answer: PollAnswer; readonly isStale: boolean }
  /** What the work loop would do now; a ledger or an upstream that is down answers nothing. */
  | { readonly kind: "step"; readonly isUp: boolean }
  | { readonly kind: "wake" }
  | { readonly kind: "clock"; readonly byMs: number }
  | {
      readonly kind: "policy";
      readonly scheduleMs: readonly number[];
      readonly holdMs: number;
      readonly polls: Policy["polls"];
    };

/** One task id, the record under it, and what is known of its present life. */
export interface World {
  readonly record: TaskRecord | null;
  readonly policy: Policy;
  readonly now: number;
  /** The longest schedule that was in force since the record began. */
  readonly longest: number;
  /** Registrations so far: each brings a charge id of its own. */
  readonly orders: number;
  /** Refunds booked in this life. */
  readonly refunds: number;
}

export const BEGINNING: World = {
  record: null,
  policy: build.aPolicy(),
  now: NOW,
  longest: 3,
  orders: 0,
  refunds: 0,
};

const results: UpstreamResult[] = [
  build.aCompletion(),
  build.aCompletion({ urls: [build.VIDEO, URL_A], completedAt: NOW }),
  build.aCompletion({ metadata: { seed: 1, 7: "x" } }),
  build.aFailure(),
  build.aFailure("other", ""),
];
const url = fc.constantFrom(null, URL_A, URL_B);

const registering = fc
  .tuple(
    fc.constantFrom(
      build.aRegistration,
      priced.aPricedRegistration,
      priced.aPricedRegistration,
      priced.aSettledRegistration,
    ),
    fc.record({
      callbackUrl: url,
      deadlineAt: fc.constantFrom(null, NOW + MINUTE, NOW + DAY),
      provider: fc.constantFrom(null, build.CONNECTION, build.CONNECTION, "fal"),
      job: fc.constantFrom(null, JOB),
    }),
  )
  .map(([register, changes]) => register(changes));

const creation = fc.option(
  fc
    .record({ callbackUrl: url, callbackUrlRefusal: fc.constantFrom(null, null, "refused") })
    .map(build.aCreation),
);
const report = fc
  .tuple(fc.constantFrom(build.PROCESSING, ...results), creation)
  .map(([news, created]) => build.aReport(news, created));

const ending = fc
  .tuple(fc.integer({ min: 0, max: 12 }), fc.constantFrom(...OUTCOMES))
  .map(([number, outcome]) => build.anEndAs(number, outcome));

const redelivery = fc
  .record({
    attempts: fc.integer({ min: 1, max: 3 }),
    callbackUrl: url,
    idempotencyKey: fc.constantFrom(null, "k1", "k2"),
  })
  .map(build.aRedelivery);

const simple = fc.constantFrom<TaskEvent>(
  { type: "deadline" },
  { type: "attempt_started" },
  { type: "cancel" },
  { type: "erase" },
  priced.aRefundEnd(true),
  priced.aRefundEnd(false),
);

const charging = fc
  .record({
    answer: fc.constantFrom<ChargeAnswer>(
      priced.CHARGED,
      priced.CHARGED,
      { kind: "unknown" },
      { kind: "unknown_account" },
      { kind: "insufficient", balance: 0, price: priced.PRICE },
    ),
    isStale: fc.constantFrom(false, false, true),
  })
  .map((given): Command => ({ kind: "charge_end", ...given }));

const polling = fc
  .record({ answer: pollAnswers, isStale: fc.constantFrom(false, false, true) })
  .map((given): Command => ({ kind: "poll_end", ...given }));

const happening = fc
  .oneof(registering, report, ending, redelivery, simple, hooks, attachments)
  .map((event): Command => ({ kind: "event", event }));
const working = fc.constantFrom<Command>(
  { kind: "step", isUp: true },
  { kind: "step", isUp: false },
  { kind: "wake" },
  { kind: "wake" },
);
const ticking = fc
  .constantFrom(1, MINUTE, HOUR, 40 * DAY, -1, -MINUTE, -DAY)
  .map((byMs): Command => ({ kind: "clock", byMs }));
const wait = fc.constantFrom(0, 1, 180_000, 600_000, HOUR);
const deciding = fc
  .record({
    scheduleMs: fc.array(wait, { minLength: 1, maxLength: 5 }),
    holdMs: fc.constantFrom(0, 0, 75_000),
    polls: keys,
  })
  .map((given): Command => ({ kind: "policy", ...given }));

export const commands = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: happening },
    { weight: 3, arbitrary: working },
    { weight: 2, arbitrary: fc.oneof(charging, polling) },
    { weight: 1, arbitrary: ticking },
    { weight: 1, arbitrary: deciding },
  ),
  { maxLength: 60, size: "max" },
);

/** The event that a command comes to. */
export function eventOf(world: World, given: Command): TaskEvent | null {
  const { record, policy, now, orders } = world;
  if (given.kind === "charge_end") {
    const chargeId = given.isStale ? "of another life" : record?.credits?.chargeId;
    return priced.aChargeEnd(given.answer, chargeId ?? "of nothing");
  }
  if (given.kind === "poll_end") return pollEnd(record, given.answer, given.isStale);
  if (given.kind === "event") return ordered(given.event, orders);
  if (given.kind !== "step" || record === null) return null;
  const step = nextStep(record, policy, now);
  return step === null ? null : performed(step, given.isUp);
}

function ordered(event: TaskEvent, orders: number): TaskEvent {
  if (event.type !== "register" || event.chargeId === null) return event;
  return { ...event, chargeId: `charge-${orders}` };
}

/** A stale answer is about another job. */
function pollEnd(record: TaskRecord | null, answer: PollAnswer, isStale: boolean): TaskEvent {
  const isAsked = record !== null && isOpen(record);
  const job = (isStale ? null : record?.upstream?.job) ?? OTHER_JOB;
  const plannedAt = (isAsked ? record.tracking.poll?.at : null) ?? NOW;
  return { type: "poll_ended", job, plannedAt, askedAt: ASKED_AFTER_ALL, answer };
}

export function next(world: World, given: Command): World {
  const { record, policy, now, longest } = world;
  if (given.kind === "clock") return { ...world, now: now + given.byMs };
  if (given.kind === "wake") {
    return record === null ? world : { ...world, now: Math.max(now, wakeAt(record, policy)) };
  }
  if (given.kind === "policy") {
    const { scheduleMs, holdMs, polls } = given;
    const pausedUntil = holdMs === 0 ? 0 : now + holdMs;
    const most = Math.max(longest, scheduleMs.length);
    return { ...world, policy: build.aPolicy({ scheduleMs, pausedUntil, polls }), longest: most };
  }
  const event = eventOf(world, given);
  return event === null ? world : applied(world, event);
}

function applied(world: World, event: TaskEvent): World {
  const { record, policy, now } = world;
  const orders = world.orders + (event.type === "register" ? 1 : 0);
  const decision = transition(record, event, policy, now);
  switch (decision.kind) {
    case "commit": {
      const isBooked = event.type === "refund_ended" && event.isRefunded;
      const refunds = world.refunds + (isBooked ? 1 : 0);
      return { ...world, orders, refunds, record: decision.record };
    }
    case "erase":
      return { ...world, orders, refunds: 0, record: null, longest: policy.scheduleMs.length };
    case "nothing":
      expect(decision.record).toBe(record);
      return { ...world, orders };
    case "reject":
      if ("task" in decision.rejection) {
        expect(decision.rejection.task).toBe(record);
        expect(record?.status).not.toBe("charging");
      }
      return { ...world, orders };
  }
}

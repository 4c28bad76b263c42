import { describe, expect, it } from "vitest";
import type { ChargeRefusal } from "../../src/core/events/decision.ts";
import type { ChargeAnswer, TaskEvent } from "../../src/core/events/event.ts";
import { nextStep, wakeAt } from "../../src/core/step.ts";
import type { TaskRecord } from "../../src/core/record/task.ts";
import { transition } from "../../src/core/transition.ts";
import {
  ACCOUNT,
  aCompletion,
  aCreation,
  aFailure,
  aFinishedTask,
  anOpenTask,
  aPolicy,
  aRedelivery,
  aReport,
  committed,
  HOUR,
  ID,
  MINUTE,
  NOW,
  POLICY,
  PROCESSING,
  SECOND,
  URL_B,
  NEW_ROW,
} from "./builders.ts";
import {
  aChargedTask,
  aChargeEnd,
  aChargingTask,
  aPricedRegistration,
  aRefundEnd,
  aRefundingTask,
  aSettledRegistration,
  CHARGE_ID,
  credits,
  PRICE,
} from "./credit-builders.ts";
import { apply, expectRefused, expectUnchanged, finish } from "./decisions.ts";

const later = NOW + HOUR;
const UNKNOWN: ChargeAnswer = { kind: "unknown" };

describe("a registration with a price", () => {
  it("after a task with a price is registered, its account is charged at once, and the charge names the API key that registered the task", () => {
    const record = apply(null, aPricedRegistration({ keyName: "alice" }));
    const keyNames = { registeredBy: "alice", attachedBy: null, reportedBy: null };
    expect(record).toEqual(aChargingTask({ keyNames }));
    const order = { taskId: ID, accountId: ACCOUNT.id, chargeId: CHARGE_ID, amount: PRICE };
    const charge = { ...order, model: "seedance-1-0-pro", bookedBy: "alice" };
    expect(wakeAt(record, POLICY)).toBe(NOW);
    expect(nextStep(record, POLICY, NOW)).toEqual({ kind: "charge", charge });
  });

  it("registering a task whose price the operator's own billing has already charged creates an open task at once, without a charge by the relay", () => {
    const event = aSettledRegistration();
    const { registration } = event;
    expect(apply(null, event)).toEqual(
      anOpenTask({
        account: ACCOUNT,
        indexRow: NEW_ROW,
        registration,
        credits: credits({ kind: "charged" }, { chargeId: null }),
      }),
    );
  });

  it("registering a task with a price but without an account charges nothing", () => {
    const event = aPricedRegistration({ accountId: null });
    const { registration } = event;
    expect(apply(null, event)).toEqual(anOpenTask({ indexRow: NEW_ROW, registration }));
  });

  it("the same registration sent again while the task's price is being charged changes nothing: the task keeps the id of the first charge", () => {
    const record = aChargingTask();
    const again = aPricedRegistration({ chargeId: "charge-2" });
    expectUnchanged(record, again, later);
  });

  it.each([
    ["price", aPricedRegistration({ credits: PRICE + 1 })],
    ["account", aPricedRegistration({ accountId: "other" })],
    ["callback_url", aPricedRegistration({ callbackUrl: URL_B })],
  ])(
    "registering a task id again with another %s is refused while the task's price is being charged",
    (_what, other) => {
      expectRefused(aChargingTask(), other, "charging", later);
    },
  );

  it("after a task's price was charged, a registration of the same task id with another price is refused with the code task_exists", () => {
    const record = aChargedTask();
    const other = aPricedRegistration({ credits: PRICE + 1 });
    expectRefused(record, other, "task_exists", later);
  });
});

describe("a task whose price is being charged", () => {
  it.each<[string, TaskEvent, "charging" | "unknown_task"]>([
    ["a progress report", aReport(PROCESSING), "charging"],
    ["a report of success", aReport(), "charging"],
    ["a report of failure", aReport(aFailure()), "charging"],
    [
      "a report of success that also has the fields with which a new task is created",
      aReport(aCompletion(), aCreation()),
      "charging",
    ],
    ["an order to redeliver", aRedelivery(), "unknown_task"],
    ["a cancellation", { type: "cancel", isForced: false }, "unknown_task"],
    ["an erasure", { type: "erase" }, "unknown_task"],
  ])("a task whose price is being charged does not accept %s", (_what, event, code) => {
    expect(transition(aChargingTask(), event, POLICY, later)).toEqual({
      kind: "reject",
      rejection: { code },
    });
  });

  it.each<[string, TaskEvent]>([
    ["the news that its deadline has come", { type: "deadline" }],
    ["the news that a refund has ended", aRefundEnd(true)],
    [
      "the news that the charge of an earlier task with the same id succeeded",
      aChargeEnd(undefined, "charge-0"),
    ],
    [
      "the news that the charge of an earlier task with the same id was refused",
      aChargeEnd({ kind: "unknown_account" }, "charge-0"),
    ],
    [
      "the news that the charge of an earlier task with the same id got no answer",
      aChargeEnd(UNKNOWN, "charge-0"),
    ],
  ])("a task whose price is being charged ignores %s", (_what, event) => {
    const record = aChargingTask({ deadlineAt: NOW });
    expectUnchanged(record, event, later);
  });

  it("while a task's price is being charged, the task does nothing but repeat the charge, even after its deadline and while the relay is paused", () => {
    const record = aChargingTask({ deadlineAt: NOW - 1 });
    const paused = aPolicy({ pausedAt: later });
    expect(wakeAt(record, paused)).toBe(NOW);
    expect(nextStep(record, paused, later)?.kind).toBe("charge");
  });
});

describe("the answer of the ledger", () => {
  it("when the ledger has charged a task's price, the task becomes open and stores the generation number of its account's secret for signing callbacks", () => {
    const decision = transition(aChargingTask(), aChargeEnd(), POLICY, later);
    expect(committed(decision)).toEqual(
      aChargedTask({ indexRow: { ...NEW_ROW, outdatedAt: later }, version: later }),
    );
  });

  it("when the ledger answers only after a task's deadline that the price was charged, the task fails and its price is refunded", () => {
    const record = aChargingTask({ deadlineAt: NOW + MINUTE });
    const open = apply(record, aChargeEnd(), later);
    expect(nextStep(open, POLICY, later)).toEqual({ kind: "event", event: { type: "deadline" } });
    const failed = finish(open, { type: "deadline" }, later);
    expect(failed.credits?.state).toEqual({ kind: "refunding", retryAt: later, tries: 0 });
  });

  it.each<[ChargeAnswer, ChargeRefusal]>([
    [
      { kind: "insufficient", balance: 39, price: PRICE },
      { code: "insufficient_credits", balance: 39, price: PRICE },
    ],
    [{ kind: "unknown_account" }, { code: "unknown_account" }],
  ])(
    "when the ledger refuses to charge a task's price with the reason $kind, the task is erased, and the caller who registered it gets this reason",
    (answer, because) => {
      const record = aChargingTask();
      const decision = transition(record, aChargeEnd(answer), POLICY, later);
      expect(decision).toEqual({ kind: "erase", record, because });
    },
  );

  it("when the ledger does not answer a charge, the task repeats the charge after 5 s, then each time after twice the wait, up to 5 min, until it has an answer", () => {
    let record: TaskRecord = aChargingTask();
    const waits: number[] = [];
    let now = NOW;
    for (let i = 0; i < 40; i++) {
      record = apply(record, aChargeEnd(UNKNOWN), now);
      expect(record).toMatchObject({ status: "charging", credits: { chargeId: CHARGE_ID } });
      const wake = wakeAt(record, POLICY);
      expect(nextStep(record, POLICY, wake)?.kind).toBe("charge");
      expect(nextStep(record, POLICY, wake - 1)).toBeNull();
      waits.push((wake - now) / SECOND);
      now = wake;
    }
    expect(waits.slice(0, 8)).toEqual([5, 10, 20, 40, 80, 160, 300, 300]);
    expect(waits.slice(8).every((wait) => wait === 300)).toBe(true);
    const charged = apply(record, aChargeEnd(), now);
    expect(charged.status).toBe("pending");
  });

  it.each<[string, TaskRecord | null]>([
    ["a task that does not exist", null],
    ["an open task", aChargedTask()],
    ["a task without a price", anOpenTask()],
    ["a completed task", aFinishedTask({ credits: credits() })],
    ["a failed task", aRefundingTask()],
  ])("the ledger's answer to a charge is ignored when it arrives for %s", (_what, record) => {
    for (const answer of [undefined, UNKNOWN, { kind: "unknown_account" } as const]) {
      expectUnchanged(record, aChargeEnd(answer), later);
    }
  });
});

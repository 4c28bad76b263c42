import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { runMicrotasks } from "../../simulation/microtasks.ts";
import { aPricedRegistration, CHARGE_ID, PRICE } from "../credit-builders.ts";
import { MemoryHost } from "./memory-host.ts";

const create = aPricedRegistration();

let host: MemoryHost;

beforeEach(() => {
  host = new MemoryHost();
});

afterEach(() => host.expectNoFailure());

/** Runs the loop until nothing is due, and records when that call has returned. */
function run(): { hasEnded: boolean } {
  const state = { hasEnded: false };
  void host.loop.runUntilIdle().then(() => (state.hasEnded = true));
  return state;
}

describe("the charge of a registration", () => {
  it("registering a task with a price costs two storage writes of the task's record and two writes of its alarm", async () => {
    host.loop.apply(create);
    expect((await host.loop.runUntilIdle())?.kind).toBe("changed");
    expect(host.stored?.status).toBe("pending");
    expect(host.writes).toEqual(["put", "alarm", "put", "alarm"]);
  });

  it.each([
    [
      "for lack of credits",
      { code: "insufficient_credits", balance: PRICE - 1, price: PRICE },
      { granted: PRICE - 1 },
    ],
    [
      "by the monthly limit",
      { code: "monthly_limit", price: PRICE, limit: PRICE - 1, spent: 0 },
      { monthlyLimit: PRICE - 1 },
    ],
    ["for lack of an account", { code: "unknown_account" }, { hasAccount: false }],
  ])(
    "a registration whose charge is refused %s leaves no task and no alarm",
    async (_why, because, ledger) => {
      Object.assign(host.ledger, ledger);
      host.loop.apply(create);
      const record = { credits: { chargeId: CHARGE_ID } };
      const decision = await host.loop.runUntilIdle();
      expect(decision).toMatchObject({ kind: "erase", record, because });
      expect([host.stored, host.alarm, host.ledger.entries]).toEqual([null, null, []]);
    },
  );

  it("several identical registrations that come while the price is being charged cause only one charge, and each caller gets its result", async () => {
    host.endings = {};
    host.loop.apply(create);
    const answers = [1, 2, 3].map(async (i) => {
      const again = host.loop.apply(aPricedRegistration({ chargeId: `again-${i}` }));
      expect(again).toMatchObject({ kind: "unchanged", record: { status: "charging" } });
      return host.loop.runUntilIdle();
    });
    const woken = host.loop.wake(host.clock);
    await runMicrotasks();
    host.end("charge");
    for (const last of await Promise.all(answers)) {
      expect(last).toMatchObject({ kind: "changed", record: { status: "pending" } });
    }
    await woken;
    expect(host.charges).toHaveLength(1);
  });
});

describe("runUntilIdle", () => {
  it("runUntilIdle, which takes a task's steps until none is due, waits until the charge is answered", async () => {
    host.endings = {};
    host.loop.apply(create);
    const state = run();
    await runMicrotasks();
    expect(state.hasEnded).toBe(false);
    host.end("charge");
    await runMicrotasks();
    expect([state.hasEnded, host.stored?.status]).toEqual([true, "pending"]);
  });

  it("runUntilIdle, which takes a task's steps until none is due, waits until a task with a refused charge is erased", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    host.erasing = promise;
    host.ledger.hasAccount = false;
    host.loop.apply(create);
    const state = run();
    await runMicrotasks();
    expect(state.hasEnded).toBe(false);
    resolve();
    await runMicrotasks();
    expect(state.hasEnded).toBe(true);
  });

  it("runUntilIdle, which takes a task's steps until none is due, writes nothing when there is no task", async () => {
    expect(await host.loop.runUntilIdle()).toBeNull();
    await host.loop.wake(host.clock);
    expect(host.writes).toEqual([]);
  });
});

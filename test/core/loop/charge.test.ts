import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { WorkLoop } from "../../../src/task/work-loop.ts";
import { ACCOUNT, ID, NOW, POLICY, SECOND } from "../builders.ts";
import { aPricedRegistration, CHARGE_ID, PRICE } from "../credit-builders.ts";
import { runMicrotasks } from "../../simulation/microtasks.ts";
import { MemoryHost } from "./memory-host.ts";
import { GRANTED } from "./model-ledger.ts";
import { checkBooks } from "./crash-run.ts";

const create = aPricedRegistration();
const WATCHDOG = 15_000;

let platform: MemoryHost;
let loop: WorkLoop;

beforeEach(() => {
  platform = new MemoryHost();
  loop = platform.newLoop();
});

afterEach(() => {
  expect(platform.badAlarms).toEqual([]);
  expect(platform.failures).toEqual([]);
  expect(platform.early).toEqual([]);
});

/** Something that the test holds back, and lets go. */
function gate() {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { promise, open: resolve };
}

describe("a create with a price", () => {
  it("asks the ledger once, and then the task exists", async () => {
    loop.apply(create);
    expect(platform.stored?.status).toBe("charging");
    expect(platform.alarm).toBe(NOW + WATCHDOG);
    expect((await loop.runUntilIdle())?.kind).toBe("changed");
    expect(platform.stored).toMatchObject({ status: "pending", account: ACCOUNT });
    expect(platform.charges).toEqual([
      { taskId: ID, accountId: ACCOUNT.id, chargeId: CHARGE_ID, amount: PRICE },
    ]);
    expect(platform.ledger.balance).toBe(GRANTED - PRICE);
    expect(platform.alarm).toBe(NOW + POLICY.taskDeadlineMs);
    expect(platform.logs).toEqual([
      { event: "credits.charge", task_id: ID, account: "acme", amount: PRICE, outcome: "charged" },
    ]);
  });

  it("costs two rows of the record and two of the alarm", async () => {
    loop.apply(create);
    await loop.runUntilIdle();
    expect(platform.writes).toEqual(["put", "alarm", "put", "alarm"]);
  });

  it("that is refused tells the balance and leaves nothing", async () => {
    platform.ledger.granted = PRICE - 1;
    loop.apply(create);
    expect(await loop.runUntilIdle()).toMatchObject({
      kind: "erase",
      record: { credits: { chargeId: CHARGE_ID } },
      because: { code: "insufficient_credits", balance: PRICE - 1, price: PRICE },
    });
    expect([platform.stored, platform.alarm]).toEqual([null, null]);
    expect(platform.ledger.entries).toEqual([]);
  });

  it("for an account that does not exist says so and leaves nothing", async () => {
    platform.ledger.hasAccount = false;
    loop.apply(create);
    expect(await loop.runUntilIdle()).toMatchObject({
      kind: "erase",
      because: { code: "unknown_account" },
    });
    expect([platform.stored, platform.alarm]).toEqual([null, null]);
  });

  it("goes on when its caller has left", async () => {
    const reached = gate();
    platform.arriving = reached.promise;
    loop.apply(create);
    await runMicrotasks();
    expect(platform.stored?.status).toBe("charging");
    reached.open();
    await runMicrotasks();
    expect(platform.stored?.status).toBe("pending");
  });

  it("is charged once however often it comes, and every caller learns how it ended", async () => {
    const reached = gate();
    platform.arriving = reached.promise;
    loop.apply(create);
    const answers = [1, 2, 3].map(async (i) => {
      const again = loop.apply(aPricedRegistration({ chargeId: `again-${i}` }));
      expect(again).toMatchObject({ kind: "unchanged", record: { status: "charging" } });
      return loop.runUntilIdle();
    });
    const rung = platform.ring(loop);
    reached.open();
    for (const last of await Promise.all(answers)) {
      expect(last).toMatchObject({ kind: "changed", record: { status: "pending" } });
    }
    await rung;
    expect(platform.ledger.entries).toHaveLength(1);
    expect(platform.charges).toHaveLength(1);
  });
});

describe("runUntilIdle", () => {
  it("does not end before the charge is known", async () => {
    const known = gate();
    platform.answering = known.promise;
    loop.apply(create);
    let hasEnded = false;
    const work = loop.runUntilIdle().then(() => (hasEnded = true));
    await runMicrotasks();
    expect([hasEnded, platform.ledger.entries.length]).toEqual([false, 1]);
    known.open();
    await work;
    expect(platform.stored?.status).toBe("pending");
  });

  it("does not end before a refused task is erased", async () => {
    platform.ledger.granted = 0;
    const erased = gate();
    platform.erasing = erased.promise;
    loop.apply(create);
    let hasEnded = false;
    const work = loop.runUntilIdle().then(() => (hasEnded = true));
    await runMicrotasks();
    expect(hasEnded).toBe(false);
    erased.open();
    await work;
    expect(platform.stored).toBeNull();
  });

  it("of an object with nothing to do writes nothing", async () => {
    expect(await loop.runUntilIdle()).toBeNull();
    expect(platform.writes).toEqual([]);
  });
});

describe("a ledger that does not answer", () => {
  it.each([
    ["and has booked", "mute", 1],
    ["and has not", "deaf", 0],
  ] as const)(
    "%s leaves the task charging, and the alarm asks again",
    async (_w, outage, booked) => {
      platform.outage = outage;
      loop.apply(create);
      expect((await loop.runUntilIdle())?.kind).toBe("changed");
      expect(platform.ledger.entries).toHaveLength(booked);
      for (const waitS of [5, 10, 20, 40, 80, 160, 300, 300, 300]) {
        expect(platform.stored?.status).toBe("charging");
        expect(platform.alarm).toBe(platform.clock + waitS * SECOND);
        await platform.ring(loop);
      }
      platform.outage = null;
      await platform.ring(loop);
      expect(platform.stored?.status).toBe("pending");
      expect(platform.ledger.entries).toHaveLength(1);
      expect(new Set(platform.charges.map(({ chargeId }) => chargeId))).toEqual(
        new Set([CHARGE_ID]),
      );
    },
  );

  it("is not asked again by a create that joins before its time", async () => {
    platform.outage = "deaf";
    loop.apply(create);
    await loop.runUntilIdle();
    loop.apply(create);
    expect(await loop.runUntilIdle()).toBeNull();
    expect(platform.charges).toHaveLength(1);
    expect(platform.alarm).toBe(NOW + 5 * SECOND);
  });

  it("and refuses in the end leaves nothing", async () => {
    platform.outage = "deaf";
    platform.ledger.granted = 0;
    loop.apply(create);
    await loop.runUntilIdle();
    platform.outage = null;
    await platform.ring(loop);
    expect([platform.stored, platform.alarm]).toEqual([null, null]);
    checkBooks(platform);
  });
});

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { WorkLoop } from "../../../src/task/work-loop.ts";
import {
  aCompletion,
  aCreation,
  anAttempt,
  aPolicy,
  aRegistration,
  aReport,
  callbackOf,
  FIRST_WAIT,
  MINUTE,
  NOW,
} from "../builders.ts";
import type { Call } from "./memory-calls.ts";
import { runMicrotasks } from "../../simulation/microtasks.ts";
import { MemoryHost } from "./memory-host.ts";

const finish = aReport(aCompletion(), aCreation());
const WATCHDOG = 15_000;
const INTERRUPTED = anAttempt({ durationMs: WATCHDOG, outcome: "interrupted", statusCode: null });
const ONCE = aPolicy({ scheduleMs: [0] });

let platform: MemoryHost;
let loop: WorkLoop;

beforeEach(() => {
  platform = new MemoryHost();
  loop = platform.newLoop();
});

afterEach(() => {
  expect(platform.badAlarms).toEqual([]);
});

function breakCalls(...calls: readonly Call[]): void {
  platform.trouble = (call) => calls.includes(call);
}

function crashed(): WorkLoop {
  platform.crash();
  return platform.newLoop();
}

describe("an open attempt that an earlier instance left", () => {
  it("becomes interrupted, counts, and is not sent again", async () => {
    loop.apply(finish);
    await platform.ring(crashed());
    expect(platform.numbers).toEqual([1]);
    expect(callbackOf(platform.stored)).toMatchObject({
      attempts: [INTERRUPTED],
      series: { started: 1 },
      state: { kind: "due", nextAttemptAt: NOW + WATCHDOG + FIRST_WAIT },
    });
    expect(platform.alarm).toBe(NOW + WATCHDOG + FIRST_WAIT);
  });

  it("is the last one of its series where the schedule says so", async () => {
    platform.policyAt = () => ONCE;
    loop.apply(finish);
    await platform.ring(crashed());
    expect(callbackOf(platform.stored).state).toEqual({ kind: "failed" });
  });

  it("is followed by the next attempt, sent by the new instance", async () => {
    loop.apply(finish);
    const reborn = crashed();
    await platform.ring(reborn);
    const rung = platform.ring(reborn);
    await platform.answer("delivered");
    await rung;
    expect(platform.numbers).toEqual([1, 2]);
    expect(callbackOf(platform.stored).state).toEqual({ kind: "delivered" });
  });

  it("is covered by the alarm that was running when the instance died", async () => {
    loop.apply(finish);
    await platform.answer("rejected");
    void platform.ring(loop);
    await runMicrotasks();
    await platform.ring(crashed());
    expect(platform.numbers).toEqual([1, 2]);
    expect(callbackOf(platform.stored).attempts[1]?.outcome).toBe("interrupted");
  });

  it("counts three times at most, whatever crashes", async () => {
    loop.apply(finish);
    while (callbackOf(platform.stored).state.kind !== "failed") {
      void platform.ring(crashed());
      await runMicrotasks();
    }
    expect(platform.numbers).toEqual([1, 2, 3]);
    expect(callbackOf(platform.stored).attempts).toHaveLength(3);
  });
});

describe("a result that comes too late", () => {
  it("is dropped and logged when its attempt was closed meanwhile", async () => {
    loop.apply(finish);
    await platform.ring(platform.newLoop());
    const { stored } = platform;
    await platform.answer("delivered");
    expect(platform.stored).toEqual(stored);
    expect(platform.logs).toMatchObject([
      { number: 1, outcome: "interrupted", recorded: true },
      { number: 1, outcome: "delivered", recorded: false },
    ]);
  });

  it("is dropped and logged when the task was erased and created again meanwhile", async () => {
    platform.policyAt = () => ONCE;
    loop.apply(finish);
    const other = platform.newLoop();
    await platform.ring(other);
    await other.applyAndErase({ type: "erase" });
    other.apply(aRegistration());
    const { stored } = platform;
    await platform.answer("delivered");
    expect(platform.stored).toEqual(stored);
    expect(platform.logs.at(-1)).toMatchObject({ outcome: "delivered", recorded: false });
  });
});

describe("a throw when an attempt is due", () => {
  it.each<Call>(["load", "policy", "commit"])(
    "in %s escapes with nothing sent or counted; repaired, the task goes on",
    async (call) => {
      loop.apply(finish);
      await platform.answer("rejected");
      const { stored } = platform;
      breakCalls(call);
      await expect(platform.ring(loop)).rejects.toThrow(`${call} is broken`);
      expect(platform.stored).toEqual(stored);
      expect(platform.numbers).toEqual([1]);
      expect(platform.alarm).toBe(NOW + FIRST_WAIT + MINUTE);

      breakCalls();
      const rung = platform.ring(loop);
      await platform.answer("delivered");
      await rung;
      expect(platform.numbers).toEqual([1, 2]);
      expect(callbackOf(platform.stored).state).toEqual({ kind: "delivered" });
    },
  );

  it.each<Call>(["load", "policy", "commit"])("in %s escapes from apply too", (call) => {
    breakCalls(call);
    expect(() => loop.apply(finish)).toThrow(`${call} is broken`);
    expect([platform.stored, platform.numbers, platform.writes]).toEqual([null, [], []]);
  });
});

describe("a throw around a request", () => {
  beforeEach(() => {
    platform.policyAt = () => ONCE;
  });

  it.each<Call>(["load", "policy", "commit"])(
    "in %s after it leaves the attempt open; repaired, the task settles without another",
    async (call) => {
      loop.apply(finish);
      breakCalls(call);
      await platform.answer("delivered");
      expect(platform.failures).toEqual([new Error(`${call} is broken`)]);
      expect(callbackOf(platform.stored).state.kind).toBe("in_flight");
      expect(platform.alarm).toBe(NOW + WATCHDOG);

      breakCalls();
      await platform.ring(loop);
      expect(platform.numbers).toEqual([1]);
      expect(callbackOf(platform.stored)).toMatchObject({
        attempts: [INTERRUPTED],
        state: { kind: "failed" },
      });
    },
  );

  it("in send leaves the attempt open; repaired, the task settles without a request", async () => {
    breakCalls("send");
    loop.apply(finish);
    await runMicrotasks();
    expect(platform.failures).toEqual([new Error("send is broken")]);
    breakCalls();
    await platform.ring(loop);
    expect(platform.numbers).toEqual([]);
    expect(callbackOf(platform.stored).attempts).toEqual([INTERRUPTED]);
  });

  it("escapes from an alarm that joined", async () => {
    loop.apply(finish);
    const rung = platform.ring(loop);
    breakCalls("commit");
    platform.sent[0]?.answer("delivered");
    await expect(rung).rejects.toThrow("commit is broken");
    breakCalls();
    await platform.ring(loop);
    expect(platform.numbers).toEqual([1]);
    expect(callbackOf(platform.stored).state).toEqual({ kind: "failed" });
  });

  it("in the loop before the request keeps the attempt for the next run of the same instance", async () => {
    let loads = 0;
    platform.trouble = (call) => call === "load" && ++loads === 2;
    loop.apply(finish);
    await runMicrotasks();
    expect(platform.failures).toEqual([new Error("load is broken")]);
    const rung = platform.ring(loop);
    await platform.answer("delivered");
    await rung;
    expect(platform.numbers).toEqual([1]);
    expect(callbackOf(platform.stored).state).toEqual({ kind: "delivered" });
  });
});

describe("a loop that does not come to rest", () => {
  it("is stopped, with nothing sent and an alarm set", async () => {
    platform.policyAt = () => aPolicy({ scheduleMs: [MINUTE] });
    loop.apply(finish);
    platform.isForgetful = true;
    await expect(platform.ring(loop)).rejects.toThrow("100 steps without an end");
    expect(platform.numbers).toEqual([]);
    expect(platform.alarm).toBe(NOW + 2 * MINUTE);
  });
});

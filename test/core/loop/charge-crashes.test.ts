import { describe, expect, it } from "vitest";
import type { RegisterEvent, TaskEvent } from "../../../src/core/events/event.ts";
import type { UpstreamNews } from "../../../src/core/record/upstream.ts";
import { aCompletion, aFailure, aReport, CONNECTION, PROCESSING } from "../builders.ts";
import { aPricedRegistration, aSettledRegistration, PRICE } from "../credit-builders.ts";
import type { Outage } from "./memory-calls.ts";
import { CrashRun } from "./crash-run.ts";
import { aHook, anAttachment, anUpstreamFailure, told as tells } from "../upstream-builders.ts";

interface Scenario {
  readonly registration: RegisterEvent;
  /** What the outside says once the task exists; what an instance dies of is not said again. */
  readonly news: readonly TaskEvent[];
  /** How its job ends; nothing answers where this is missing. */
  readonly end?: UpstreamNews;
  readonly balance?: number;
  readonly hasAccount?: boolean;
}

const priced = aPricedRegistration();
const failure = aReport(aFailure());
const scenarios: Readonly<Record<string, Scenario>> = {
  completes: { registration: priced, news: [aReport(PROCESSING), aReport(aCompletion())] },
  fails: { registration: priced, news: [failure] },
  "fails without a callback_url": {
    registration: aPricedRegistration({ callbackUrl: null }),
    news: [failure],
  },
  "is never heard of again": { registration: priced, news: [] },
  "is canceled": { registration: priced, news: [{ type: "cancel" }] },
  "completes upstream": {
    registration: aPricedRegistration({ provider: CONNECTION }),
    news: [anAttachment(), aHook(anUpstreamFailure())],
    end: aCompletion(),
  },
  "fails upstream": {
    registration: aPricedRegistration({ provider: CONNECTION }),
    news: [aHook(aCompletion()), anAttachment()],
    end: anUpstreamFailure(),
  },
  "is refused for want of credits": { registration: priced, news: [], balance: PRICE - 1 },
  "is refused for want of an account": { registration: priced, news: [], hasAccount: false },
  "fails, charged by the operator's own billing": {
    registration: aSettledRegistration(),
    news: [failure],
  },
};

/** Tells a scenario to an object that dies at those points; the rest comes from the alarms alone. */
async function runScenario(scenario: Scenario, ...deaths: readonly number[]): Promise<CrashRun> {
  const run = new CrashRun(...deaths);
  const { ledger } = run.platform;
  ledger.granted = scenario.balance ?? ledger.granted;
  ledger.hasAccount = scenario.hasAccount ?? true;
  const { end } = scenario;
  if (end !== undefined) run.upstream = () => tells(end);
  await run.tell(scenario.registration);
  await run.sleepUntil(({ status }) => status !== "charging");
  for (const event of scenario.news) if (run.platform.stored !== null) await run.tell(event);
  await run.sleepToTheEnd();
  return run;
}

/** Tries a scenario, and says at which points it fell apart. */
async function tryScenario(scenario: Scenario, ...deaths: readonly number[]): Promise<CrashRun> {
  try {
    return await runScenario(scenario, ...deaths);
  } catch (error) {
    throw new Error(`deaths at ${deaths.join(" and ")}`, { cause: error });
  }
}

describe.each(Object.entries(scenarios))("a task with a price that %s", (_what, scenario) => {
  it("costs what it should when nothing crashes", async () => {
    const run = await runScenario(scenario);
    const { history, charges, refunds } = run.platform;
    const isVisible = history.some(({ status }) => status !== "charging");
    expect(isVisible).toBe(scenario.balance === undefined && scenario.hasAccount !== false);
    expect(charges).toHaveLength(scenario.registration.chargeId === null ? 0 : 1);
    expect(refunds).toHaveLength(history.some(({ status }) => status === "failed") ? 1 : 0);
  });

  it("balances the books whichever point the object dies at, and whichever two", async () => {
    const { points } = await runScenario(scenario);
    expect(points).toBeGreaterThan(5);
    for (let first = 1; first <= points; first++) {
      const run = await tryScenario(scenario, first);
      for (let second = first + 1; second <= run.points; second++) {
        await tryScenario(scenario, first, second);
      }
    }
  }, 60_000);
});

describe("a task whose object dies while it is created", () => {
  it("exists with its charge or not at all, whatever the caller saw", async () => {
    const seen = new Set<string>();
    for (let death = 1; death <= 8; death++) {
      const run = new CrashRun(death);
      await run.tell(priced);
      await run.sleepUntil(({ status }) => status !== "charging");
      const { stored, ledger, charges } = run.platform;
      expect(ledger.entries).toHaveLength(stored === null ? 0 : 1);
      seen.add(`${stored?.status ?? "nothing"} after ${charges.length} charges`);
    }
    expect(seen).toEqual(
      new Set(["nothing after 0 charges", "pending after 1 charges", "pending after 2 charges"]),
    );
  });

  it("is charged under its first id although the same create comes again", async () => {
    for (let death = 1; death <= 8; death++) {
      const run = new CrashRun(death);
      await run.tell(priced);
      await run.tell(aPricedRegistration({ chargeId: "charge-2" }));
      await run.sleepUntil(({ status }) => status !== "charging");
      expect(run.platform.ledger.entries).toHaveLength(1);
      await run.tell(failure);
      await run.sleepToTheEnd();
    }
  });
});

describe("a ledger that fails and an object that dies", () => {
  const outages: readonly Outage[] = ["deaf", "mute"];

  it.each(outages)("balance the books in the end: a ledger that is %s", async (outage) => {
    for (let death = 1; death <= 30; death++) {
      const run = new CrashRun(death);
      const { platform } = run;
      platform.outage = outage;
      await run.tell(priced);
      for (let i = 0; i < 3 && platform.stored !== null; i++) await run.sleep();
      platform.outage = null;
      await run.sleepUntil(({ status }) => status !== "charging");
      platform.outage = outage;
      if (platform.stored !== null) await run.tell(failure);
      for (let i = 0; i < 3 && platform.stored !== null; i++) await run.sleep();
      expect(platform.sent).toEqual([]);
      platform.outage = null;
      await run.sleepToTheEnd();
    }
  });
});

import { describe, expect, it } from "vitest";
import type { RegisterEvent, TaskEvent } from "../../../src/core/events/event.ts";
import type { UpstreamNews } from "../../../src/core/record/upstream.ts";
import { aCompletion, aFailure, aReport, CONNECTION, PROCESSING } from "../builders.ts";
import { aPricedRegistration, aSettledRegistration, PRICE } from "../credit-builders.ts";
import type { Outage } from "./memory-calls.ts";
import { Saga } from "./crash-run.ts";
import { aHook, anAttachment, anUpstreamFailure, told as tells } from "../upstream-builders.ts";

interface Story {
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
const stories: Readonly<Record<string, Story>> = {
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

/** Tells a story to an object that dies at those points; the rest comes from the alarms alone. */
async function told(story: Story, ...deaths: readonly number[]): Promise<Saga> {
  const saga = new Saga(...deaths);
  const { ledger } = saga.platform;
  ledger.granted = story.balance ?? ledger.granted;
  ledger.hasAccount = story.hasAccount ?? true;
  const { end } = story;
  if (end !== undefined) saga.upstream = () => tells(end);
  await saga.tell(story.registration);
  await saga.sleepUntil(({ status }) => status !== "charging");
  for (const event of story.news) if (saga.platform.stored !== null) await saga.tell(event);
  await saga.sleepToTheEnd();
  return saga;
}

/** Tries a story, and says at which points it fell apart. */
async function tried(story: Story, ...deaths: readonly number[]): Promise<Saga> {
  try {
    return await told(story, ...deaths);
  } catch (error) {
    throw new Error(`deaths at ${deaths.join(" and ")}`, { cause: error });
  }
}

describe.each(Object.entries(stories))("a task with a price that %s", (_what, story) => {
  it("costs what it should when nothing crashes", async () => {
    const saga = await told(story);
    const { history, charges, refunds } = saga.platform;
    const isVisible = history.some(({ status }) => status !== "charging");
    expect(isVisible).toBe(story.balance === undefined && story.hasAccount !== false);
    expect(charges).toHaveLength(story.registration.chargeId === null ? 0 : 1);
    expect(refunds).toHaveLength(history.some(({ status }) => status === "failed") ? 1 : 0);
  });

  it("balances the books whichever point the object dies at, and whichever two", async () => {
    const { points } = await told(story);
    expect(points).toBeGreaterThan(5);
    for (let first = 1; first <= points; first++) {
      const saga = await tried(story, first);
      for (let second = first + 1; second <= saga.points; second++) {
        await tried(story, first, second);
      }
    }
  }, 60_000);
});

describe("a task whose object dies while it is created", () => {
  it("exists with its charge or not at all, whatever the caller saw", async () => {
    const seen = new Set<string>();
    for (let death = 1; death <= 8; death++) {
      const saga = new Saga(death);
      await saga.tell(priced);
      await saga.sleepUntil(({ status }) => status !== "charging");
      const { stored, ledger, charges } = saga.platform;
      expect(ledger.entries).toHaveLength(stored === null ? 0 : 1);
      seen.add(`${stored?.status ?? "nothing"} after ${charges.length} charges`);
    }
    expect(seen).toEqual(
      new Set(["nothing after 0 charges", "pending after 1 charges", "pending after 2 charges"]),
    );
  });

  it("is charged under its first id although the same create comes again", async () => {
    for (let death = 1; death <= 8; death++) {
      const saga = new Saga(death);
      await saga.tell(priced);
      await saga.tell(aPricedRegistration({ chargeId: "charge-2" }));
      await saga.sleepUntil(({ status }) => status !== "charging");
      expect(saga.platform.ledger.entries).toHaveLength(1);
      await saga.tell(failure);
      await saga.sleepToTheEnd();
    }
  });
});

describe("a ledger that fails and an object that dies", () => {
  const outages: readonly Outage[] = ["deaf", "mute"];

  it.each(outages)("balance the books in the end: a ledger that is %s", async (outage) => {
    for (let death = 1; death <= 30; death++) {
      const saga = new Saga(death);
      const { platform } = saga;
      platform.outage = outage;
      await saga.tell(priced);
      for (let i = 0; i < 3 && platform.stored !== null; i++) await saga.sleep();
      platform.outage = null;
      await saga.sleepUntil(({ status }) => status !== "charging");
      platform.outage = outage;
      if (platform.stored !== null) await saga.tell(failure);
      for (let i = 0; i < 3 && platform.stored !== null; i++) await saga.sleep();
      expect(platform.sent).toEqual([]);
      platform.outage = null;
      await saga.sleepToTheEnd();
    }
  });
});

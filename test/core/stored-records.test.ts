import { describe, expect, it } from "vitest";
import { nextStep, wakeAt } from "../../src/core/step.ts";
import { transition } from "../../src/core/transition.ts";
import { parseRecord } from "../../src/objects/record-schema.ts";
import { aPolicy, aReport, committed, ID, NOW } from "./builders.ts";

/**
 * Records as the first release that kept accounts wrote them, before upstreams and the index. They are
 * never changed: whatever was stored once stays readable.
 */
const BASE = {
  v: 1,
  version: 1_792_497_600_250,
  id: "0199f3a2-7c41-4d7e-9b1a-2f60c1d2e3f4",
  model: "seedance-1-0-pro",
  account: { id: "acme", generation: 3 },
  createdAt: 1_792_497_600_250,
  origin: "https://relay.example.com",
  registration: {
    callbackUrl: "https://client.example.com/callbacks",
    parameters: { prompt: "a cat" },
    metadata: null,
    deadlineAt: null,
    accountId: "acme",
    credits: 40,
  },
};
const PRICE = { accountId: "acme", amount: 40, chargeId: "charge-1" };
const OPEN = {
  ...BASE,
  status: "pending",
  credits: { ...PRICE, state: { kind: "charged" } },
  callbackUrl: "https://client.example.com/callbacks",
  deadlineAt: 1_792_756_800_250,
};
const CHARGING = {
  ...OPEN,
  account: null,
  status: "charging",
  credits: { ...PRICE, state: { kind: "charging", retryAt: 1_792_497_600_250, tries: 0 } },
};
const SENDING = {
  ...BASE,
  status: "completed",
  credits: { ...PRICE, state: { kind: "charged" } },
  body: `{"id":"${ID}","status":"completed","model":"seedance-1-0-pro","created_at":1792497600,"completed_at":1792497600,"output":{"urls":["https://cdn.example.com/video.mp4"],"metadata":{}}}`,
  failure: null,
  expiresAt: 1_794_916_800_250,
  callback: {
    url: "https://client.example.com/callbacks",
    attempts: [
      {
        number: 1,
        series: 1,
        startedAt: 1_792_497_600_250,
        durationMs: 100,
        outcome: "rejected",
        statusCode: 500,
        responseExcerpt: null,
      },
    ],
    lastNumber: 1,
    series: { number: 1, started: 1, ordered: null },
    state: { kind: "due", nextAttemptAt: 1_792_497_780_350 },
    deliveredAt: null,
    lastOrderKey: null,
  },
};

const RECORDS = { CHARGING, OPEN, SENDING };
const everything = aPolicy({ isIndexed: true, isOperatorTold: true });

describe("a record of the first release", () => {
  it.each(Object.entries(RECORDS))("is read, and keeps all that it says: %s", (_name, stored) => {
    expect(parseRecord(structuredClone(stored))).toMatchObject(stored);
  });

  it.each(Object.entries(RECORDS))("wakes its object in time: %s", (_name, stored) => {
    const record = parseRecord(structuredClone(stored));
    const wake = wakeAt(record, everything);
    expect(wake).toBeLessThanOrEqual(OPEN.deadlineAt);
    expect(nextStep(record, everything, wake)).not.toBeNull();
  });

  it("goes on to its end, and is read again", () => {
    const record = parseRecord(structuredClone(OPEN));
    const finished = committed(transition(record, aReport(), everything, NOW + 1000));
    expect(finished.status).toBe("completed");
    expect(parseRecord(structuredClone(finished))).toEqual(finished);
  });

  it("goes on with its series where it was", () => {
    const record = parseRecord(structuredClone(SENDING));
    const { nextAttemptAt } = SENDING.callback.state;
    const started = { type: "attempt_started" } as const;
    const sending = committed(transition(record, started, everything, nextAttemptAt));
    expect(sending).toMatchObject({ callback: { state: { kind: "in_flight", number: 2 } } });
  });

  it("of another shape is not acted on", () => {
    expect(() => parseRecord({ ...OPEN, v: 2 })).toThrow("unreadable task record");
    expect(() => parseRecord({ ...OPEN, deadlineAt: "soon" })).toThrow("deadlineAt");
  });
});

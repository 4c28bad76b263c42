import { describe, expect, it } from "vitest";
import { rowOf } from "../../src/core/views/index-row.ts";
import {
  aCallback,
  aFinishedTask,
  anAttempt,
  anOpenTask,
  DAY,
  HOUR,
  MINUTE,
  NOW,
  SECOND_WAIT,
  URL_A,
} from "./builders.ts";

const HOST = "client.example.com";

describe("after a redelivery the row", () => {
  const again = anAttempt({ number: 2, series: 2, startedAt: NOW + DAY, durationMs: 500 });
  const later = aCallback({ attempts: [anAttempt(), again], lastNumber: 2 });

  it("counts every attempt, and keeps the latencies of the automatic series", () => {
    expect(rowOf(aFinishedTask({ callback: later }))).toMatchObject({
      callback: "delivered",
      attempts: 2,
      settledAt: NOW + DAY + 500,
      firstAttemptMs: 0,
      settledMs: 250,
    });
  });

  it("is sending again while that one is due", () => {
    const state = { kind: "due", nextAttemptAt: NOW + 2 * DAY } as const;
    const row = rowOf(aFinishedTask({ callback: aCallback({ attempts: [again], state }) }));
    expect(row).toMatchObject({ callback: "sending", dueAt: NOW + 2 * DAY, settledAt: null });
  });

  it("has no latencies of an automatic series that is forgotten", () => {
    const record = aFinishedTask({ callback: aCallback({ attempts: [again], lastNumber: 30 }) });
    expect(rowOf(record)).toMatchObject({ attempts: 30, firstAttemptMs: null, settledMs: null });
  });
});

describe("the first attempt of a row", () => {
  const second = { kind: "in_flight", number: 2, startedAt: NOW + HOUR } as const;
  const late = anAttempt({ number: 2, startedAt: NOW + HOUR });
  const first = { kind: "in_flight", number: 1, startedAt: NOW + HOUR } as const;
  const ordered = { number: 2, started: 1, ordered: 1 };
  const redelivered = anAttempt({ series: 2, startedAt: NOW + HOUR });

  it.each([
    ["stays the first while the second is on its way", aCallback({ state: second }), 0],
    ["is unknown when only a later one is remembered", aCallback({ attempts: [late] }), null],
    [
      "is none of a redelivery on its way, where the task had no URL",
      aCallback({ attempts: [], series: ordered, state: first }),
      null,
    ],
    [
      "is none of a redelivery, where the task had no URL",
      aCallback({ attempts: [redelivered], series: ordered }),
      null,
    ],
  ])("%s", (_what, callback, firstAttemptMs) => {
    expect(rowOf(aFinishedTask({ callback }))?.firstAttemptMs).toBe(firstAttemptMs);
  });
});

describe("the latencies of a row", () => {
  it("count from the result to the start of the first attempt, and to the end of the last", () => {
    const callback = aCallback({
      attempts: [
        anAttempt({ startedAt: NOW + MINUTE, outcome: "rejected" }),
        anAttempt({ number: 2, startedAt: NOW + SECOND_WAIT, durationMs: 125 }),
      ],
    });
    const row = rowOf(aFinishedTask({ callback }));
    expect(row).toMatchObject({ firstAttemptMs: MINUTE, settledMs: SECOND_WAIT + 125 });
  });

  it("are never less than nothing, also when the clock was put back", () => {
    const callback = aCallback({ attempts: [anAttempt({ startedAt: NOW - HOUR })] });
    const row = rowOf(aFinishedTask({ callback }));
    expect(row).toMatchObject({ firstAttemptMs: 0, settledMs: 0 });
  });
});

describe("the host of a row", () => {
  it.each([
    [URL_A, HOST],
    ["https://Client.Example.COM/Callbacks", HOST],
    ["HTTPS://client.example.com/", HOST],
    ["https://client.example.com:8443/callbacks", HOST],
    ["https://client.example.com", HOST],
    ["https://client.example.com?x=https://other.example.com/", HOST],
    ["https://client.example.com#x", HOST],
    ["http://127.0.0.1:8787/callbacks", "127.0.0.1"],
    ["https://[2606:4700:4700::1111]/callbacks", "[2606:4700:4700::1111]"],
    ["https://[2606:4700:4700::1111]:8443/callbacks", "[2606:4700:4700::1111]"],
  ])("of %s is %s", (callbackUrl, host) => {
    expect(rowOf(anOpenTask({ callbackUrl }))?.host).toBe(host);
    expect(rowOf(aFinishedTask({ callback: aCallback({ url: callbackUrl }) }))?.host).toBe(host);
  });

  it("is none where the URL on record cannot be read, and the row is written all the same", () => {
    expect(rowOf(anOpenTask({ callbackUrl: "client.example.com" }))?.host).toBeNull();
  });
});

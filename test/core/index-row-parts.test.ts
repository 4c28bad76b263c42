import { describe, expect, it } from "vitest";
import type { CreditsState } from "../../src/core/record/credits.ts";
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
  POLICY,
  SECOND_WAIT,
  URL_A,
  runningSince,
} from "./builders.ts";
import { credits } from "./credit-builders.ts";

const HOST = "client.example.com";

describe("after a redelivery the row", () => {
  const again = anAttempt({ number: 2, series: 2, startedAt: NOW + DAY, durationMs: 500 });
  const later = aCallback({ attempts: [anAttempt(), again], lastNumber: 2 });

  it("the index row of a redelivered task counts all attempts, but its latencies firstAttemptMs and settledMs ignore the redelivery", () => {
    expect(rowOf(aFinishedTask({ callback: later }), POLICY)).toMatchObject({
      callback: "delivered",
      attempts: 2,
      outcomes: { delivered: 2 },
      settledAt: NOW + DAY + 500,
      firstAttemptMs: 0,
      settledMs: 250,
    });
  });

  it('the index row of a task has the value "sending" in its field callback again while a redelivery is due', () => {
    const state = { kind: "due", nextAttemptAt: NOW + 2 * DAY } as const;
    const row = rowOf(aFinishedTask({ callback: aCallback({ attempts: [again], state }) }), POLICY);
    expect(row).toMatchObject({ callback: "sending", dueAt: NOW + 2 * DAY, settledAt: null });
  });

  it("when a task's record has dropped its oldest attempts, the index row still counts their outcomes, but has null as firstAttemptMs and settledMs", () => {
    const droppedOutcomes = { delivered: 9, interrupted: 20 };
    const dropped = { attempts: [again], droppedOutcomes, lastNumber: 30 };
    expect(rowOf(aFinishedTask({ callback: aCallback(dropped) }), POLICY)).toMatchObject({
      attempts: 30,
      outcomes: { delivered: 10, interrupted: 20 },
      firstAttemptMs: null,
      settledMs: null,
    });
  });
});

describe("the first attempt of a row", () => {
  const second = runningSince(NOW + HOUR, 2);
  const late = anAttempt({ number: 2, startedAt: NOW + HOUR });
  const first = runningSince(NOW + HOUR);
  const ordered = { number: 2, started: 1, ordered: 1, keyName: null };
  const redelivered = anAttempt({ series: 2, startedAt: NOW + HOUR });

  it.each([
    ["stays that of attempt 1 while attempt 2 is in flight", aCallback({ state: second }), 0],
    ["is null when only a later attempt is still stored", aCallback({ attempts: [late] }), null],
    [
      "is null while only a redelivery is in flight for a task that had no callback URL",
      aCallback({ attempts: [], series: ordered, state: first }),
      null,
    ],
    [
      "is null after only a redelivery of a task that had no callback URL",
      aCallback({ attempts: [redelivered], series: ordered }),
      null,
    ],
  ])("the time of the first attempt in the index row %s", (_what, callback, firstAttemptMs) => {
    expect(rowOf(aFinishedTask({ callback }), POLICY)?.firstAttemptMs).toBe(firstAttemptMs);
  });
});

describe("the latencies of a row", () => {
  it("firstAttemptMs and settledMs in the index row count from the task's result to the start of the first attempt and to the end of the last one", () => {
    const callback = aCallback({
      attempts: [
        anAttempt({ startedAt: NOW + MINUTE, outcome: "rejected" }),
        anAttempt({ number: 2, startedAt: NOW + SECOND_WAIT, durationMs: 125 }),
      ],
    });
    const row = rowOf(aFinishedTask({ callback }), POLICY);
    expect(row).toMatchObject({ firstAttemptMs: MINUTE, settledMs: SECOND_WAIT + 125 });
  });

  it("firstAttemptMs and settledMs in the index row are never negative, even when the clock was put back", () => {
    const callback = aCallback({ attempts: [anAttempt({ startedAt: NOW - HOUR })] });
    const row = rowOf(aFinishedTask({ callback }), POLICY);
    expect(row).toMatchObject({ firstAttemptMs: 0, settledMs: 0 });
  });
});

describe("the host of a row", () => {
  it.each([
    [URL_A, HOST],
    ["https://Client.Example.COM/Callbacks", HOST],
    ["HTTPS://client.example.com/", HOST],
    ["https://client.example.com:443/callbacks", HOST],
    ["https://client.example.com:8443/callbacks", `${HOST}:8443`],
    ["https://client.example.com", HOST],
    ["https://client.example.com?x=https://other.example.com/", HOST],
    ["https://client.example.com#x", HOST],
    ["http://127.0.0.1:8787/callbacks", "127.0.0.1:8787"],
    ["https://[2606:4700:4700::1111]/callbacks", "[2606:4700:4700::1111]"],
    ["https://[2606:4700:4700::1111]:8443/callbacks", "[2606:4700:4700::1111]:8443"],
  ])("the receiver's host in the index row of a callback to %s is %s", (callbackUrl, host) => {
    expect(rowOf(anOpenTask({ callbackUrl }), POLICY)?.host).toBe(host);
    expect(rowOf(aFinishedTask({ callback: aCallback({ url: callbackUrl }) }), POLICY)?.host).toBe(
      host,
    );
  });

  it("the index row has no host when the stored callback URL cannot be parsed", () => {
    expect(rowOf(anOpenTask({ callbackUrl: "client.example.com" }), POLICY)?.host).toBeNull();
  });
});

it("the index row of a finished task has 1 in the column refunded when its credits were refunded, and 0 when they were kept", () => {
  const states: readonly CreditsState[] = [{ kind: "refunded", at: NOW }, { kind: "charged" }];
  const rows = states.map((state) => rowOf(aFinishedTask({ credits: credits(state) }), POLICY));
  expect(rows.map(({ refunded }) => refunded)).toEqual([1, 0]);
});

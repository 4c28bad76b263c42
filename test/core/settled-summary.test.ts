import { expect, it } from "vitest";
import type { TerminalTask } from "../../src/core/record/task.ts";
import { type SettledSummary, settledSummary } from "../../src/core/views/settled-summary.ts";
import { ACCOUNT, aCallback, aFinishedTask, CONNECTION, ID, MINUTE, NOW } from "./builders.ts";
import { credits, PRICE } from "./credit-builders.ts";
import { UPSTREAM } from "./upstream-builders.ts";

/** Summary of a task that was completed when it was created and whose callback was delivered at once. */
const DELIVERED = {
  task_id: ID,
  account: null,
  connection: null,
  status: "completed",
  failure: null,
  callback: "delivered",
  attempts: 1,
  series: 1,
  hooks: 0,
  polls: 0,
  refunded: null,
  released: null,
  open_ms: 0,
  settling_ms: MINUTE,
  registered_by: null,
  attached_by: null,
  reported_by: null,
};

it.each<[string, Partial<TerminalTask>, SettledSummary]>([
  ["has null in the fields that do not apply to the task", {}, DELIVERED],
  [
    "has account, counts and refunded credits of a failed and refunded task whose callback failed",
    {
      account: ACCOUNT,
      upstream: UPSTREAM,
      status: "failed",
      failure: { category: "moderation", retryable: false },
      counts: { hooks: 2, polls: 3 },
      credits: credits({ kind: "refunded", at: NOW }),
      createdAt: NOW - 9 * MINUTE,
      finishedAt: NOW - MINUTE,
      callback: aCallback({
        lastNumber: 7,
        series: { number: 4, started: 1, ordered: null, keyName: null },
        state: { kind: "failed" },
      }),
    },
    {
      ...DELIVERED,
      account: ACCOUNT.id,
      connection: CONNECTION,
      status: "failed",
      failure: "moderation",
      callback: "failed",
      attempts: 7,
      series: 4,
      hooks: 2,
      polls: 3,
      refunded: PRICE,
      open_ms: 8 * MINUTE,
      settling_ms: 2 * MINUTE,
    },
  ],
  [
    "has no refunded credits when the credits of the task are charged and not refunded",
    { credits: credits() },
    DELIVERED,
  ],
  [
    "has the released credits of a task that cost less than was charged",
    { credits: credits({ kind: "released", at: NOW }, { final: { credits: 13, basis: "usage" } }) },
    { ...DELIVERED, released: PRICE - 13 },
  ],
  [
    "has no attempts when the task has no callback URL",
    { callback: null },
    { ...DELIVERED, callback: null, attempts: 0, series: 0 },
  ],
  [
    "has no negative duration when the clock was put back before the result",
    { createdAt: NOW + MINUTE },
    DELIVERED,
  ],
  [
    "has no negative duration when the clock was put back after the result",
    { finishedAt: NOW + 2 * MINUTE },
    { ...DELIVERED, open_ms: 2 * MINUTE, settling_ms: 0 },
  ],
])(
  "the summary that the relay logs of a settled task states its end, counts, credits and durations: it %s",
  (_what, changes, summary) => {
    expect(settledSummary(aFinishedTask(changes), NOW + MINUTE)).toEqual(summary);
  },
);

import { describe, expect, it } from "vitest";
import { taskView } from "../../src/core/views/task-view.ts";
import {
  aFinishedTask,
  aRegistration,
  BODY,
  HOUR,
  ID,
  MODEL,
  NOW,
  NOW_S,
  URL_A,
} from "./builders.ts";
import { aChargedTask, aRefundingTask, credits, PRICE } from "./credit-builders.ts";

const HEAD = `{"id":"${ID}","status":"pending","model":"${MODEL}","created_at":${NOW_S}`;

describe("the view of a task with a price", () => {
  const roles = ["operator", "account"] as const;

  it.each(roles)(
    "an open task with a price is shown to the %s with the number of credits and their state, charged",
    (role) => {
      const { registration } = aRegistration({ metadata: { order: 7 } });
      expect(taskView(aChargedTask({ registration, deadlineAt: NOW + HOUR }), role)).toBe(
        `${HEAD},"callback":{"url":"${URL_A}","status":"waiting","attempts":[]},` +
          `"account":"acme","metadata":{"order":7},` +
          `"credits":{"amount":${PRICE},"state":"charged"},"deadline_at":${NOW_S + 3600}}`,
      );
    },
  );

  it.each(roles)(
    "while the callback of a failed task waits for the refund of its credits, the %s sees it with the status sending",
    (role) => {
      const failure = { category: "canceled", retryable: false } as const;
      const task = aRefundingTask({ failure });
      expect(taskView(task, role)).toBe(
        `${task.body.slice(0, -1)},"callback":{"url":"${URL_A}","status":"sending","attempts":[]},` +
          `"account":"acme","credits":{"amount":${PRICE},"state":"refunding"},` +
          `"finished_at":${NOW_S},"failure":{"category":"canceled","retryable":false}}`,
      );
    },
  );

  it.each([
    ["are charged", "charged", {}],
    ["were refunded, and when", "refunded", { refunded_at: NOW_S }],
  ] as const)(
    "a finished task with a price is shown to its account with the number of credits and that they %s",
    (_, kind, times) => {
      const state = kind === "charged" ? { kind } : { kind, at: NOW };
      const task = aFinishedTask({ callback: null, credits: credits(state) });
      const shown = { amount: PRICE, state: kind, ...times };
      const paid = JSON.stringify({ callback: null, credits: shown, finished_at: NOW_S });
      expect(taskView(task, "account")).toBe(`${BODY.slice(0, -1)},${paid.slice(1)}`);
    },
  );
});

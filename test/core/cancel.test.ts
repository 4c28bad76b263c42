import { describe, expect, it } from "vitest";
import type { TaskEvent } from "../../src/core/events/event.ts";
import { transition } from "../../src/core/transition.ts";
import {
  aFinishedTask,
  anOpenTask,
  aReport,
  committed,
  finished,
  HOUR,
  NOW,
  POLICY,
  URL_A,
} from "./builders.ts";
import { failedBody } from "./credit-builders.ts";

const later = NOW + HOUR;
const cancel: TaskEvent = { type: "cancel" };

describe("cancel", () => {
  it.each(["pending", "processing"] as const)("ends a %s task that cost nothing", (status) => {
    const canceled = finished(transition(anOpenTask({ status }), cancel, POLICY, later));
    expect(canceled).toMatchObject({
      status: "failed",
      body: failedBody("canceled", "The task was canceled."),
      failure: { category: "canceled", retryable: false },
      credits: null,
      callback: { url: URL_A, state: { kind: "in_flight", number: 1 } },
    });
  });

  it("of an unknown task is refused", () => {
    const rejection = { code: "unknown_task" };
    expect(transition(null, cancel, POLICY, NOW)).toEqual({ kind: "reject", rejection });
  });

  it.each(["completed", "failed"] as const)("of a %s task is refused", (status) => {
    const task = aFinishedTask({ status });
    const rejection = { code: "task_settled", task };
    expect(transition(task, cancel, POLICY, later)).toEqual({ kind: "reject", rejection });
  });

  it("again is refused, and the upstream's late result too", () => {
    const task = committed(transition(anOpenTask(), cancel, POLICY, NOW));
    for (const [event, code] of [
      [cancel, "task_settled"],
      [aReport(), "conflicting_result"],
    ] as const) {
      const rejection = { code, task };
      expect(transition(task, event, POLICY, later)).toEqual({ kind: "reject", rejection });
    }
  });
});

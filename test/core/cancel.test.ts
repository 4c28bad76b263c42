import { expect, it } from "vitest";
import type { TaskEvent } from "../../src/core/events/event.ts";
import { aFinishedTask, anOpenTask, aReport, HOUR, NOW, URL_A } from "./builders.ts";
import { failedBody } from "./credit-builders.ts";
import { apply, expectRefused, finish } from "./decisions.ts";

const later = NOW + HOUR;
const cancel: TaskEvent = { type: "cancel" };

it.each(["pending", "processing"] as const)(
  "a %s task that is cancelled ends as failed with the category canceled",
  (status) => {
    expect(finish(anOpenTask({ status }), cancel, later)).toMatchObject({
      status: "failed",
      body: failedBody("canceled", "The task was canceled."),
      failure: { category: "canceled", retryable: false },
      credits: null,
      callback: { url: URL_A, state: { kind: "in_flight", number: 1 } },
    });
  },
);

const canceled = apply(anOpenTask(), cancel);

it.each([
  ["cancel of an unknown task", null, cancel, "unknown_task"],
  ["cancel of a completed task", aFinishedTask(), cancel, "task_settled"],
  ["cancel of a failed task", aFinishedTask({ status: "failed" }), cancel, "task_settled"],
  ["cancel of a canceled task", canceled, cancel, "task_settled"],
  ["the late result of a canceled task", canceled, aReport(), "conflicting_result"],
])(
  "only an open task can be canceled, and a canceled task takes no result: %s is refused",
  (_what, record, event, code) => {
    expectRefused(record, event, code, later);
  },
);

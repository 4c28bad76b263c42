import { expect, it } from "vitest";
import { hostIncident } from "../../../src/console/host/host-incident.ts";
import { taskIncident } from "../../../src/console/task/task-incident.ts";
import type { Task as TaskJson } from "../../../src/api/shapes/task-shape.ts";
import { taskFacts } from "../../../src/core/views/task-facts.ts";
import { taskView } from "../../../src/core/views/task-view.ts";
import { aCallback, aFinishedTask, anAttempt, ID, MINUTE, NOW, POLICY } from "../builders.ts";
import { aCancellation, cancelStateNamed } from "../cancel-builders.ts";
import { aSending, anUnknown } from "../stored-submissions.ts";

const LINK = "https://relay.example.com/tasks/1";

it("the console's text about a task for an incident report has its times, its callback attempts, the receiver's host and a link, but not the callback URL or receivers' answers", () => {
  const attempts = [
    anAttempt({ number: 1, dueAt: NOW, startedAt: NOW + 4, durationMs: 10, outcome: "rejected" }),
    anAttempt({
      number: 2,
      dueAt: NOW + MINUTE,
      startedAt: NOW + MINUTE + 5,
      durationMs: 10_000,
      outcome: "timeout",
      statusCode: null,
    }),
  ];
  const callback = aCallback({
    url: "https://client.example.com/hook?token=secret",
    attempts,
    lastNumber: 2,
    state: { kind: "due", nextAttemptAt: NOW + 10 * MINUTE },
    deliveredAt: null,
  });
  const task = aFinishedTask({ createdAt: NOW - MINUTE, callback });
  const view: TaskJson = JSON.parse(taskView(task, "operator", NOW));
  const json = { ...view, model: "se\u202Eed\nance" };
  expect(taskIncident(json, taskFacts(task, "operator", POLICY), LINK).split("\n")).toEqual([
    `Task ${ID} (seU+202Eed ance): completed, callback retrying`,
    "Registered 20 Oct 11:59:00.250 UTC, result after 1 min",
    "Callback to client.example.com",
    expect.stringMatching(/^#1 20 Oct 12:00:00\.254 rejected.* in 10 ms, 4 ms after the result$/),
    "#2 20 Oct 12:01:00.255 timeout in 10 s, 5 ms late",
    "Next attempt 20 Oct 12:10:00 UTC",
    LINK,
  ]);
});

it.each([
  [
    "answered",
    anUnknown(502),
    "Submitted 20 Oct 12:00:00.250 UTC, answered after 1 s with HTTP status 502: unknown",
  ],
  ["unanswered", aSending(), "Submitted 20 Oct 12:00:00.250 UTC: sending"],
] as const)(
  "the console's text about a task for an incident report says when its submission was sent, what the upstream answered, and the submission's state: a submission that is %s",
  (_, submission, line) => {
    const task = aFinishedTask({ submission });
    const json: TaskJson = JSON.parse(taskView(task, "operator", NOW));
    const lines = taskIncident(json, taskFacts(task, "operator", POLICY), LINK).split("\n");
    expect(lines[2]).toBe(line);
  },
);

it.each([
  ["order", "confirmed", "Cancellation ordered 20 Oct 12:00:00 UTC: confirmed"],
  ["order", "refused", "Cancellation ordered 20 Oct 12:00:00 UTC: refused with HTTP status 202"],
  [
    "deadline",
    "unknown",
    "Cancellation at the deadline 20 Oct 12:00:00 UTC: unknown with HTTP status 202",
  ],
] as const)(
  "the console's text about a task for an incident report says why its job was to be canceled (%s), when, and what became of that (%s)",
  (reason, kind, line) => {
    const cancellation = aCancellation({ reason, state: cancelStateNamed(kind) });
    const task = aFinishedTask({ cancellation });
    const json: TaskJson = JSON.parse(taskView(task, "operator", NOW));
    expect(taskIncident(json, taskFacts(task, "operator", POLICY), LINK).split("\n")).toContain(
      line,
    );
  },
);

it("the console's text about a failing host for an incident report has its first failure, its counts, the likely cause of each failure, the accounts and a link", () => {
  const failing = { since: 1_792_497_600, failed: 1_284, sending: 87, is_capped: false };
  const kind = { outcome: "rejected", status_code: 503, tasks: 1_284, task_id: ID } as const;
  const failures = {
    outcomes: [{ ...kind, first_at: null, last_at: null }],
    accounts: [{ account: "acme", tasks: 1_284 }],
    sending: 87,
    first_failed_at: null,
    is_capped: false,
  };
  const host = {
    host: "client.example.com",
    failing: { ...failing, outcome: "rejected", status_code: 503 } as const,
    failures,
    last_delivered_at: 1_792_497_540,
  };
  expect(hostIncident(host, LINK).split("\n")).toEqual([
    "Host client.example.com: callbacks fail since 20 Oct 12:00:00 UTC, 1,284 failed, 87 still being tried",
    "Last delivered 20 Oct 11:59:00 UTC",
    "rejected 503: 1,284 callbacks. The receiver's own code or its proxy fails. Its log has the error.",
    "Accounts: acme 1,284",
    LINK,
  ]);
});

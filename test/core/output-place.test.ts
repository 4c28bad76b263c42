import { expect, it } from "vitest";
import type { TaskRecord } from "../../src/core/record/task.ts";
import { outputPlaceOf } from "../../src/core/views/output-place.ts";
import { aFinishedTask, anOpenTask, CONNECTION, HOUR, ID, NOW, ORIGIN, VIDEO } from "./builders.ts";
import { accepted, aCustomerKey, aSubmission, SEALED_KEY } from "./submission-builders.ts";
import { JOB } from "./upstream-builders.ts";

const OTHER = "https://cdn.example.com/other.mp4";
const KEPT = { kind: "kept", bytes: 7, mediaType: "video/mp4" } as const;
const list = [
  { number: 2, source: VIDEO, state: { kind: "copying" } },
  { number: 3, source: OTHER, state: KEPT },
] as const;
const outputs = { expiresAt: NOW + HOUR, list, order: null };
const ended = aFinishedTask({ outputs, createdAt: NOW - HOUR, recordedAt: NOW - 1 });

it("outputPlaceOf, which finds an output by its number, returns the output's own link and state, and its task's end, origin, connection and customer's key", () => {
  const upstream = { connection: CONNECTION, job: JOB };
  const submission = aSubmission({ state: accepted(), customerKey: aCustomerKey() });
  const task = { ...ended, finishedAt: NOW + 5, upstream, submission };
  const common = { taskId: ID, endedAt: NOW + 5, origin: ORIGIN, connection: CONNECTION };
  const place = { ...common, source: OTHER, state: KEPT, customerKey: SEALED_KEY };
  expect(outputPlaceOf(task, NOW - 1, 3)).toEqual(place);
});

it("outputPlaceOf returns no link of the upstream for a file that was in its answer", () => {
  const file = { number: 1, source: null, state: KEPT } as const;
  const task = { ...ended, outputs: { ...outputs, list: [file] } };
  expect(outputPlaceOf(task, NOW - 1, 1)).toMatchObject({ source: null, state: KEPT });
});

it("outputPlaceOf, which finds an output by its number, returns neither connection nor key when the task has no provider", () => {
  const place = outputPlaceOf(ended, NOW - 1, 2);
  expect(place).toMatchObject({ source: VIDEO, connection: null, customerKey: null });
});

it.each<[string, TaskRecord | null, number, number]>([
  ["of a task that does not exist", null, NOW - 1, 3],
  ["of an open task", anOpenTask({ recordedAt: NOW - 1 }), NOW - 1, 3],
  ["of an earlier task with the same id", ended, NOW - 2, 3],
  ["of a task that shows the links of its upstream", aFinishedTask(), NOW, 1],
  ["that has the link of its upstream beside others with links of the relay", ended, NOW - 1, 1],
])(
  "outputPlaceOf, which finds an output by its number, returns null for an output %s",
  (_, record, recordedAt, number) => {
    expect(outputPlaceOf(record, recordedAt, number)).toBeNull();
  },
);

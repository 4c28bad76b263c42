import { expect, it } from "vitest";
import records from "../kept-release/records.json" with { type: "json" };
import { parseRecord } from "../../src/core/record/record-schema.ts";
import { aFinishedTask, anOpenTask, aRedelivery, aReport, PROCESSING } from "./builders.ts";
import { apply } from "./decisions.ts";
import { anAttachedTask } from "./upstream-builders.ts";

const TASKS = [anOpenTask(), aFinishedTask(), ...Object.values(records)];

it.each([
  [0, "unreadable task record of a build before 1.0.0: v"],
  [1, "unreadable task record of a build before 1.0.0: v"],
  [3, "unreadable task record of a later release: v"],
])("a task record with the format number %i is refused as %s", (v, message) => {
  for (const task of TASKS) {
    expect(() => parseRecord(structuredClone({ ...task, v }))).toThrow(message);
  }
});

it.each([
  ["of an early build, whose fields have other names", { v: 1, status: "open", tries: 1 }],
  ["that is nothing but a number of the format", { v: 1 }],
])("a task record %s is refused as one of a build before 1.0.0", (_, stored) => {
  expect(() => parseRecord(stored)).toThrow("of a build before 1.0.0");
});

it("a task record with a creation time that is not a number is refused, and the message names the field", () => {
  const stored = { ...anOpenTask(), createdAt: "soon" };
  expect(() => parseRecord(stored)).toThrow(/^unreadable task record: createdAt$/);
});

/** A member that a later release may have added. */
const ADDED = { shard: "b" };

it("members that a later release has added to an open task and its tracking are kept when the task changes", () => {
  const task = anAttachedTask();
  const tracking = { ...task.tracking, poll: { ...task.tracking.poll, ...ADDED }, ...ADDED };
  const stored = parseRecord({ ...task, ...ADDED, tracking });
  const changed = apply(stored, aReport(PROCESSING));
  expect(changed).toMatchObject({ status: "processing", ...ADDED });
  expect(changed).toMatchObject({ tracking: { ...ADDED, poll: ADDED } });
  expect(parseRecord(changed)).toEqual(changed);
});

it("members that a later release has added to a finished task, its callback and an attempt are kept when a redelivery begins", () => {
  const { callback, ...task } = aFinishedTask();
  const attempts = callback?.attempts.map((attempt) => ({ ...attempt, ...ADDED }));
  const stored = parseRecord({ ...task, ...ADDED, callback: { ...callback, attempts, ...ADDED } });
  const changed = apply(stored, aRedelivery());
  expect(changed).toMatchObject({ ...ADDED, callback: { ...ADDED, attempts: [ADDED] } });
  expect(parseRecord(changed)).toEqual(changed);
});

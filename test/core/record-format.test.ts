import { expect, it } from "vitest";
import records from "../kept-release/records.json" with { type: "json" };
import { parseRecord, requireReadable } from "../../src/core/record/record-schema.ts";
import {
  aCompletion,
  aFinishedTask,
  anOpenTask,
  aRedelivery,
  aReport,
  BODY,
  PROCESSING,
} from "./builders.ts";
import { apply } from "./decisions.ts";
import { aKeptHook, anAttachedTask, aTracking } from "./upstream-builders.ts";

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
  ["that consists only of its format number", { v: 1 }],
])("a task record %s is refused as one of a build before 1.0.0", (_, stored) => {
  expect(() => parseRecord(stored)).toThrow("of a build before 1.0.0");
});

it("a task record is refused when its creation time is not a number, and the message names the field", () => {
  const stored = { ...anOpenTask(), createdAt: "soon" };
  expect(() => parseRecord(stored)).toThrow(/^unreadable task record: createdAt$/);
});

it("the message about a task record with several unreadable fields names each of them", () => {
  const stored = { ...anOpenTask(), createdAt: "soon", recordedAt: "later" };
  expect(() => parseRecord(stored)).toThrow(/^unreadable task record: createdAt, recordedAt$/);
});

it.each([
  ["a format number that is a text", { ...anOpenTask(), v: "3" }],
  ["a text instead of an object", "3"],
])(
  "a task record with %s is refused with a message that names no build that could read it",
  (_, stored) => {
    expect(() => parseRecord(stored)).toThrow(/^unreadable task record: v?$/);
  },
);

it.each([["720p"], [null], [true]])(
  "a task record in which the metadata of a stored hook is %j instead of an object is refused, and the message names the field",
  (metadata) => {
    const { jobId, news } = aKeptHook(aCompletion());
    const tracking = { ...aTracking(), keptHooks: [{ jobId, news: { ...news, metadata } }] };
    const message = /: tracking\.keptHooks\.0\.news\.metadata$/;
    expect(() => parseRecord({ ...anAttachedTask(), tracking })).toThrow(message);
  },
);

it.each([
  ["has a blank behind its last brace", `${BODY} `],
  ["is an object without the id of the task", '{"status":"completed"}'],
  ["is no JSON", "{completed}"],
  ["is a JSON text without braces", "1"],
])(
  "the record of a finished task whose callback body %s is refused each time it is read",
  (_, body) => {
    for (let times = 0; times < 2; times++) {
      expect(() => parseRecord(aFinishedTask({ body }))).toThrow(/: body$/);
      expect(parseRecord(aFinishedTask())).toEqual(aFinishedTask());
      expect(() => parseRecord(aFinishedTask({ body }))).toThrow(/: body$/);
    }
  },
);

it("a task record that this release could not read again is refused before it is stored, and a readable one is stored", () => {
  for (const task of [anOpenTask(), aFinishedTask()]) {
    requireReadable(task);
    const broken = { ...task, recordedAt: -1 };
    expect(() => requireReadable(broken)).toThrow(/^unreadable task record: recordedAt$/);
  }
});

/** Names of the members and indexes of the elements that lead to a value. */
type Path = readonly string[];

/** Lists the places of all values in a record, but for the details of notices to the operator, which have any form. */
function placesIn(value: unknown, path: Path = []): readonly Path[] {
  if (path.includes("details")) return [];
  const inside = typeof value === "object" && value !== null ? Object.entries(value) : [];
  const own = path.length === 0 ? [] : [path];
  return [...own, ...inside.flatMap(([name, each]) => placesIn(each, [...path, name]))];
}

/** Returns a copy of a record with another value at a place. */
function withValueAt(value: unknown, [name, ...rest]: Path, other: unknown): unknown {
  if (name === undefined) return other;
  const entries = Object.entries(value ?? {}).map(([key, each]) =>
    key === name ? [key, withValueAt(each, rest, other)] : [key, each],
  );
  return Array.isArray(value) ? entries.map(([, each]) => each) : Object.fromEntries(entries);
}

it("each task record that the previous release has stored can be read, and is refused once any one value in it is replaced by one of a foreign type", () => {
  const foreign = Symbol("no stored value");
  const read = Object.entries(records).flatMap(([fact, stored]) => {
    expect(parseRecord(stored)).toEqual(stored);
    return placesIn(stored).flatMap((place) => {
      try {
        parseRecord(withValueAt(stored, place, foreign));
        return [`${fact}: ${place.join(".")}`];
      } catch {
        return [];
      }
    });
  });
  expect(read).toEqual([]);
});

/** A member that a later release may have added. */
const ADDED = { shard: "b" };

it("members that a later release has added to the record of an open task and its tracking stay there when the task changes", () => {
  const task = anAttachedTask();
  const tracking = { ...task.tracking, poll: { ...task.tracking.poll, ...ADDED }, ...ADDED };
  const stored = parseRecord({ ...task, ...ADDED, tracking });
  const changed = apply(stored, aReport(PROCESSING));
  expect(changed).toMatchObject({ status: "processing", ...ADDED });
  expect(changed).toMatchObject({ tracking: { ...ADDED, poll: ADDED } });
  expect(parseRecord(changed)).toEqual(changed);
});

it("members that a later release has added to the record of a finished task, its callback and an attempt stay there when a redelivery begins", () => {
  const { callback, ...task } = aFinishedTask();
  const attempts = callback?.attempts.map((attempt) => ({ ...attempt, ...ADDED }));
  const stored = parseRecord({ ...task, ...ADDED, callback: { ...callback, attempts, ...ADDED } });
  const changed = apply(stored, aRedelivery());
  expect(changed).toMatchObject({ ...ADDED, callback: { ...ADDED, attempts: [ADDED] } });
  expect(parseRecord(changed)).toEqual(changed);
});

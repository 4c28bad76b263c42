import { describe, expect, it } from "vitest";
import { nextStep, wakeAt } from "../../src/core/step.ts";
import { isTerminal, type TaskRecord } from "../../src/core/record/task.ts";
import { transition } from "../../src/core/transition.ts";
import { parseRecord } from "../../src/task/record-schema.ts";
import { aPolicy, committed } from "./builders.ts";
import accounts from "./stored-records/1-accounts.json" with { type: "json" };
import providers from "./stored-records/2-providers.json" with { type: "json" };
import index from "./stored-records/3-index.json" with { type: "json" };
import { storedBy } from "./stored-records/lives.ts";
import { shapeOf } from "./stored-records/shape.ts";
import { performed } from "./world-steps.ts";

/**
 * Records as releases have written them, oldest first: before upstreams, before the index, and now. A
 * file is never changed once a release has a later one: whatever was stored once stays readable. What
 * the current release writes is added to the last file, or begins the next one.
 */
const GENERATIONS = { accounts, providers, index };
const CURRENT = Object.values(index);
const ALL = Object.entries(GENERATIONS).flatMap(([generation, records]) =>
  Object.entries(records).map(([name, stored]) => ({ generation, name, stored })),
);
const LIVES = 1_500;
const SEED = 20_261_121;
const MAX_STEPS = 100;
const everything = aPolicy({ isIndexed: true, isOperatorTold: true });

describe.each(ALL)("a stored record ($generation: $name)", ({ stored }) => {
  it("is read, and keeps all that it says", () => {
    expect(parseRecord(structuredClone(stored))).toMatchObject(stored);
  });

  it("comes to its end by its own duties, which leave alone what was settled", () => {
    let record: TaskRecord | null = parseRecord(structuredClone(stored));
    const mostAttempts = Math.max(3, numberOf(record));
    for (let steps = 0; record !== null; steps++) {
      if (steps > MAX_STEPS) throw new Error(`no end: ${JSON.stringify(record)}`);
      const before: TaskRecord = record;
      record = afterNextStep(record);
      if (record === null) continue;
      expect(parseRecord(structuredClone(record))).toEqual(record);
      expect(automatic(record)).toBeLessThanOrEqual(mostAttempts);
      if (isTerminal(before)) expect(record).toMatchObject(resultOf(before));
    }
  });
});

it.each(ALL)("of another schema, a record is not acted on ($generation: $name)", ({ stored }) => {
  expect(() => parseRecord({ ...stored, v: 2 })).toThrow(/^unreadable task record.*: v$/);
  expect(() => parseRecord({ ...stored, createdAt: "soon" })).toThrow("createdAt");
});

describe("the records that the current release writes", () => {
  it(`are all of a shape that is kept here, over ${LIVES} random lives`, () => {
    const kept = new Set(CURRENT.flatMap(shapeOf));
    const unkept = new Map<string, TaskRecord>();
    for (const record of storedBy(LIVES, SEED)) {
      for (const fact of shapeOf(record)) if (!kept.has(fact)) unkept.set(fact, record);
    }
    // Add these records to the last file, and never take any out.
    expect(Object.fromEntries(unkept)).toEqual({});
  });
});

/** The record after what it owes next, at the time when that is due; null: it is erased. */
function afterNextStep(record: TaskRecord): TaskRecord | null {
  const at = wakeAt(record, everything);
  const step = nextStep(record, everything, at);
  if (step === null) throw new Error(`nothing is due at ${at}`);
  const decision = transition(record, performed(step, true), everything, at);
  return decision.kind === "erase" ? null : committed(decision);
}

/** Of the last attempt so far: the schedule of its time may have had more than three. */
function numberOf(record: TaskRecord): number {
  return isTerminal(record) ? (record.callback?.lastNumber ?? 0) : 0;
}

function automatic(record: TaskRecord): number {
  if (!isTerminal(record) || record.callback === null) return 0;
  return record.callback.attempts.filter(({ series }) => series === 1).length;
}

function resultOf({ status, body, failure, createdAt, id }: Extract<TaskRecord, { body: string }>) {
  return { status, body, failure, createdAt, id };
}

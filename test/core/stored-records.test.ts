import { describe, expect, it } from "vitest";
import { isTerminal, type TaskRecord, type TerminalTask } from "../../src/core/record/task.ts";
import { parseRecord } from "../../src/objects/task/record-schema.ts";
import { aCompletion, aPolicy, aRedelivery } from "./builders.ts";
import { expectUnchanged } from "./decisions.ts";
import { MemoryHost } from "./loop/memory-host.ts";
import { GENERATIONS } from "./stored-records/generations.ts";
import { anAttachedTask, newsAnswer } from "./upstream-builders.ts";

const ALL = Object.entries(GENERATIONS).flatMap(([generation, records]) =>
  Object.entries(records).map(([name, stored]) => [generation, name, stored] as const),
);
const MAX_ALARMS = 60;

describe.each(ALL)("a stored record of an earlier build (%s: %s)", (_generation, _name, stored) => {
  it("a task record that an earlier build has stored is read with all its fields", () => {
    expect(parseRecord(structuredClone(stored))).toMatchObject(stored);
  });

  it("a task that an earlier build has stored continues by its alarms alone until it is erased, and its result does not change", async () => {
    const record = parseRecord(structuredClone(stored));
    const host = new MemoryHost();
    host.policyAt = () => aPolicy({ isIndexed: true, isOperatorNotified: true });
    host.endings = { ...host.endings, cancelJob: 0 };
    bookCharge(record, host);
    host.commit(record, host.clock + 1);
    for (let alarms = 0; host.stored !== null; alarms++) {
      expect(alarms).toBeLessThan(MAX_ALARMS);
      const rung = host.ring();
      await host.answerPoll(newsAnswer(aCompletion()));
      await host.answer("rejected");
      await rung;
    }
    const most = Math.max(3, isTerminal(record) ? (record.callback?.lastNumber ?? 0) : 0);
    const [first, ...later] = host.history.filter(isTerminal).map(resultOf);
    for (const result of later) expect(result).toEqual(first);
    for (const last of host.history) expect(automaticAttempts(last)).toBeLessThanOrEqual(most);
  });

  it.each([
    ["a format version of later releases (2)", { v: 2 }, /^unreadable task record.*: v$/],
    ["a creation time that is not a number", { createdAt: "soon" }, "createdAt"],
  ])("a stored task record with %s is refused", (_, change, message) => {
    expect(() => parseRecord({ ...stored, ...change })).toThrow(message);
  });
});

it("a poll plan that an earlier build has stored is read without what that build had learned of the durations of jobs", () => {
  const task = anAttachedTask({ hookWaitMs: 60_000 });
  const learned = { likelyAgesMs: [20_000, 90_000], isReported: true };
  const poll = { ...task.tracking.poll, ...learned };
  expect(parseRecord({ ...task, tracking: { ...task.tracking, poll } })).toEqual(task);
});

it("a redelivery starts no attempt, whoever orders it, if an earlier build has stored its Idempotency-Key without the caller who used it", () => {
  const { accounts, providers } = GENERATIONS;
  const records = [...Object.values(accounts), ...Object.values(providers)].map(parseRecord);
  const keyed = records.filter((record) => orderKeyOf(record) !== null);
  expect(keyed.length).toBeGreaterThan(0);
  for (const record of keyed) {
    for (const orderedBy of ["operator", "owner"] as const) {
      expectUnchanged(record, aRedelivery({ orderedBy, idempotencyKey: orderKeyOf(record) }));
    }
  }
});

function bookCharge(
  { id: taskId, credits, keyNames }: TaskRecord,
  { ledger, clock }: MemoryHost,
): void {
  if (credits === null || credits.chargeId === null || credits.state.kind === "charging") return;
  const { accountId, chargeId, amount } = credits;
  const { registeredBy: bookedBy } = keyNames;
  ledger.charge({ taskId, accountId, chargeId, amount, bookedBy }, clock, clock);
}

function orderKeyOf(record: TaskRecord): string | null {
  return isTerminal(record) ? (record.callback?.lastOrderKey ?? null) : null;
}

function automaticAttempts(record: TaskRecord): number {
  if (!isTerminal(record) || record.callback === null) return 0;
  return record.callback.attempts.filter(({ series }) => series === 1).length;
}

function resultOf({ status, body, failure, createdAt, id }: TerminalTask) {
  return { status, body, failure, createdAt, id };
}

import { expect, it } from "vitest";
import { isTerminal, type TaskRecord, type TerminalTask } from "../../src/core/record/task.ts";
import { parseRecord } from "../../src/core/record/record-schema.ts";
import records from "../kept-release/records.json" with { type: "json" };
import { aCompletion, aPolicy } from "./builders.ts";
import { MemoryHost } from "./loop/memory-host.ts";
import { newsAnswer } from "./upstream-builders.ts";

const ALL: readonly (readonly [fact: string, stored: object])[] = Object.entries(records);
const MAX_ALARMS = 60;

it.each(ALL)(
  "this release reads all fields of a task's record that the previous release has stored: a record with (status.field: value) %s",
  (_, stored) => {
    expect(parseRecord(structuredClone(stored))).toMatchObject(stored);
  },
);

it.each(ALL)(
  "a task that the previous release has stored goes on in this release by its alarms alone until it is erased, and its result does not change: a task with (status.field: value) %s",
  async (_, stored) => {
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
    const most = Math.max(planned(record), isTerminal(record) ? lastNumber(record) : 0);
    const [first, ...later] = host.history.filter(isTerminal).map(resultOf);
    for (const result of later) expect(result).toEqual(first);
    for (const last of host.history) expect(automaticAttempts(last)).toBeLessThanOrEqual(most);
  },
);

function bookCharge(
  { id: taskId, model, credits, keyNames }: TaskRecord,
  { ledger, clock }: MemoryHost,
): void {
  if (credits === null || credits.chargeId === null || credits.state.kind === "charging") return;
  const { accountId, chargeId, amount } = credits;
  const { registeredBy: bookedBy } = keyNames;
  ledger.charge({ taskId, accountId, chargeId, amount, model, bookedBy }, clock, clock);
}

/** Returns the number of attempts in the schedule of a task: its own, or that of the configuration. */
function planned(record: TaskRecord): number {
  const terms = isTerminal(record) ? record.callback?.terms : record.callbackTerms;
  return terms?.scheduleMs?.length ?? 3;
}

function lastNumber({ callback }: TerminalTask): number {
  return callback?.lastNumber ?? 0;
}

function automaticAttempts(record: TaskRecord): number {
  if (!isTerminal(record) || record.callback === null) return 0;
  return record.callback.attempts.filter(({ series }) => series === 1).length;
}

function resultOf({ status, body, failure, createdAt, id }: TerminalTask) {
  return { status, body, failure, createdAt, id };
}

import { noticeOf } from "../../src/core/record/operator-notice.ts";
import { rowOf } from "../../src/core/views/index-row.ts";
import { nextStep, wakeAt } from "../../src/core/step.ts";
import { isTerminal, type TaskRecord } from "../../src/core/record/task.ts";
import { taskView } from "../../src/core/views/task-view.ts";
import { parseRecord } from "../../src/objects/task/record-schema.ts";
import {
  ACCOUNT,
  aCallback,
  aFinishedTask,
  anAttempt,
  anOpenTask,
  aPolicy,
  NOW,
} from "../core/builders.ts";
import { aPricedRegistration } from "../core/credit-builders.ts";
import {
  aKeptHook,
  anAttachedTask,
  anUpstreamFailure,
  NO_OUTPUT,
} from "../core/upstream-builders.ts";
import { transition } from "../../src/core/transition.ts";
import { fuzz } from "./fuzz.ts";
import { mutated } from "./mutations.ts";

const POLICY = aPolicy({ isIndexed: true, isOperatorNotified: true });
const FAILURE = '{"id":"x","status":"failed","error":{"code":"moderation","message":"Refused."}}';
const price = { accountId: "acme", amount: 40, chargeId: "charge-1" };
const charging = transition(null, aPricedRegistration(), POLICY, NOW);
const failed = aFinishedTask({
  status: "failed",
  body: FAILURE,
  account: ACCOUNT,
  failure: { category: "moderation", retryable: false },
  credits: { ...price, state: { kind: "refunding", retryAt: NOW, tries: 2 } },
  callback: aCallback({ attempts: [], lastNumber: 0, state: { kind: "held" }, deliveredAt: null }),
  notices: [noticeOf("refund.delayed", NOW, NOW)],
});
const kept = [aKeptHook(NO_OUTPUT), aKeptHook(anUpstreamFailure(), null)];
const records: readonly TaskRecord[] = [
  anOpenTask(),
  anAttachedTask(
    {},
    { tracking: { poll: null, keptHooks: kept, isExtended: true, told: [], refusedHooks: [] } },
  ),
  anAttachedTask(),
  aFinishedTask(),
  aFinishedTask({ callback: aCallback({ state: { kind: "due", nextAttemptAt: NOW + 5 } }) }),
  aFinishedTask({
    callback: aCallback({
      attempts: [anAttempt({ outcome: "rejected", statusCode: 500, responseExcerpt: "no" })],
      state: { kind: "in_flight", number: 2, dueAt: NOW + 5, startedAt: NOW + 5 },
    }),
  }),
  failed,
  ...(charging.kind === "changed" ? [charging.record] : []),
];
/**
 * Records in the form in which earlier builds (without upstreams and index) and a later build would store
 * them.
 */
const older = records.map((record) => without(record, ["upstream", "publication", "tracking"]));
const newer = records.map((record) => ({ ...record, v: 2, shard: "b" }));
const valid: readonly object[] = [...records, ...older, ...newer];

function without(record: object, names: readonly string[]): object {
  return Object.fromEntries(Object.entries(record).filter(([key]) => !names.includes(key)));
}

/** Requires that a text is a JSON object. @throws when it is not. */
function requireObject(text: string): void {
  const value: unknown = JSON.parse(text);
  if (typeof value !== "object" || value === null) throw new Error(`the text is ${text}`);
}

/** Requires that the work loop can continue with the record. @throws when it cannot. */
function requireUsable(record: TaskRecord): void {
  const wake = wakeAt(record, POLICY);
  if (!Number.isSafeInteger(wake)) throw new Error(`the next wake is at ${wake}`);
  for (const now of [NOW, wake]) nextStep(record, POLICY, now);
  for (const role of ["operator", "account"] as const) requireObject(taskView(record, role));
  const row = record.status === "charging" ? {} : rowOf(record, POLICY);
  for (const [name, value] of Object.entries(row)) {
    const isSound = typeof value !== "number" || Number.isFinite(value);
    if (!isSound) throw new Error(`the row's ${name} is ${String(value)}`);
  }
  if (isTerminal(record)) requireObject(record.body);
}

fuzz(
  "any damaged task record in storage is either refused with the documented error or read completely, so that its task can continue",
  {
    inputs: mutated(valid, 2),
    subject: parseRecord,
    defects: {
      "refuses with another error": (value) => {
        if (parsed(parseRecord, value) === null) throw new TypeError("planted");
        return parseRecord(value);
      },
      "changes its input": (value) => {
        const record = parseRecord(value);
        Reflect.set(Object(value), "planted", true);
        return record;
      },
      "reads a time that is none": (value) => ({ ...parseRecord(value), createdAt: NaN }),
    },
    check: (value, parse) => {
      const before = JSON.stringify(value);
      const record = parsed(parse, value);
      if (JSON.stringify(value) !== before) throw new Error("the parser changed its input");
      if (record === null) return false;
      const stored = JSON.stringify(record);
      const again = JSON.stringify(parse(structuredClone(record)));
      if (stored !== again) throw new Error(`the record is read again as ${again}`);
      requireUsable(record);
      return true;
    },
  },
);

/** Parses a stored record; null when it is refused with the documented error. @throws any other error. */
function parsed(parse: typeof parseRecord, value: unknown): TaskRecord | null {
  try {
    return parse(value);
  } catch (error) {
    const isDocumented =
      error instanceof Error &&
      /^unreadable task record(?: of a later release)?: /.test(error.message);
    if (!isDocumented || error.name !== "Error") throw error;
    return null;
  }
}

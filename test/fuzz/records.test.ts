import { rowOf } from "../../src/core/views/index-row.ts";
import { nextStep, wakeAt } from "../../src/core/step.ts";
import { isTerminal, type TaskRecord } from "../../src/core/record/task.ts";
import { taskView } from "../../src/core/views/task-view.ts";
import { parseRecord } from "../../src/core/record/record-schema.ts";
import { NOW } from "../core/builders.ts";
import { fuzz } from "./fuzz.ts";
import { mutated } from "./mutations.ts";
import { POLICY, STORED_RECORDS } from "./stored-records.ts";

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
    inputs: mutated(STORED_RECORDS, 2),
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
      /^unreadable task record(?: of a (?:later release|build before 1\.0\.0))?: /.test(
        error.message,
      );
    if (!isDocumented || error.name !== "Error") throw error;
    return null;
  }
}

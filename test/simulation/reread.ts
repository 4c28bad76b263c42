import { jsonEqual, type JsonValue } from "../../src/core/json.ts";
import type { TaskRecord } from "../../src/core/record/task.ts";
import { parseRecord } from "../../src/task-object/record-schema.ts";

/**
 * Returns a record in the form in which the real platform reads it again, frozen so that a change in place
 * throws. @throws when it differs from what was written.
 */
export function reread(record: TaskRecord): TaskRecord {
  const read = parseRecord(structuredClone(record));
  if (!jsonEqual(jsonOf(read), jsonOf(record))) {
    throw new Error(`a record is not read as it was written: ${JSON.stringify(record)}`);
  }
  return deepFreeze(read);
}

function jsonOf(record: TaskRecord): JsonValue {
  return JSON.parse(JSON.stringify(record));
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  Object.values(value).forEach(deepFreeze);
  return value;
}

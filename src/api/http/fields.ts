import * as z from "zod";
import type { JsonObject } from "../../core/json.ts";

const MAX_TIME_S = 99_999_999_999;

/**
 * Schema of a task id: any 8-4-4-4-12 hex string, converted to lower case, because upper and lower case mean
 * the same task.
 */
export const TaskId = z.guid().toLowerCase();

export const AccountId = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,64}$/, "must be 1 to 64 of A-Z a-z 0-9 _ -");

export const Model = z.string().min(1).max(256);

/** Schema of a time in Unix seconds. A time in milliseconds exceeds the maximum and is refused. */
export const TimeS = z.int().min(0).max(MAX_TIME_S, "must be Unix seconds");

/** Schema of a field whose value must be a JSON object, of any members. */
export const JsonField = z.custom<JsonObject>(isObject, "must be an object");

/** Schema of the body of a `POST` that takes no fields: `{}`. */
export const NoFields = z.strictObject({});

/** Makes a field of a schema optional: both an absent field and `null` are read as null. */
export function optional<S extends z.ZodType>(schema: S) {
  return schema.nullish().transform((value) => value ?? null);
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

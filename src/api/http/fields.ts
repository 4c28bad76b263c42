import * as z from "zod/mini";
import { type JsonObject, wellFormedMembers } from "../../core/json.ts";
import { isWellFormed, wellFormed } from "../../core/text.ts";

export const NOT_WELL_FORMED = "must not contain a lone surrogate or U+0000";
const MAX_TIME_S = 99_999_999_999;

/**
 * Schema of a task id: any hex string of the form 8-4-4-4-12. It is converted to lower case, because ids that differ
 * only in case are the same id.
 */
export const TaskId = z.guid().check(z.toLowerCase());

export const AccountId = z
  .string()
  .check(z.regex(/^[A-Za-z0-9_-]{1,64}$/, "must be 1 to 64 of A-Z a-z 0-9 _ -"));

export const EndpointName = z
  .string()
  .check(z.regex(/^[a-z0-9-]{1,40}$/, "must be 1 to 40 of a-z 0-9 -"));

/**
 * Returns the schema of a text of `min` to `max` characters. A text that is not well-formed Unicode is refused, because
 * the relay would send it as JSON that strict parsers refuse.
 */
export function text(min: number, max: number) {
  return z
    .string()
    .check(z.minLength(min), z.maxLength(max), z.refine(isWellFormed, NOT_WELL_FORMED));
}

/**
 * Schema of a text that an upstream reports. A text that is not well-formed Unicode is repaired and not refused,
 * because a result must not be lost on account of such a fault.
 */
export const ReportedText = z.string().check(z.overwrite(wellFormed));

const MAX_MODEL_CHARS = 256;
export const Model = text(1, MAX_MODEL_CHARS);
export const ReportedModel = ReportedText.check(z.minLength(1), z.maxLength(MAX_MODEL_CHARS));

/**
 * Schema of a time in Unix seconds. Its maximum is less than the present time in milliseconds, so that a time given in
 * milliseconds is refused.
 */
export const TimeS = z.int().check(z.minimum(0), z.maximum(MAX_TIME_S, "must be Unix seconds"));

/** Schema of a field whose value must be a JSON object. The object may have any members. */
export const JsonField = z.custom<JsonObject>(isObject, "must be an object");

/**
 * Schema of a field whose value must be a JSON object. Texts and member names in the object that are not well-formed
 * Unicode are repaired.
 */
export const MendedJsonField = JsonField.check(z.overwrite(wellFormedMembers));

/** Schema of the body of a `POST` that takes no fields: `{}`. */
export const NoFields = z.strictObject({});

/**
 * Returns the schema of a list of 1 to `max` items. The number of items is checked before the items themselves, because
 * checking each item of a very long list would take seconds.
 */
export function listOf<S extends z.ZodMiniType>(item: S, max: number) {
  const counted = z.array(z.unknown()).check(z.minLength(1), z.maxLength(max));
  return z.pipe(counted, z.array(item));
}

/** Returns the schema of a field that may be absent or null, and is null in either case. */
export function optional<S extends z.ZodMiniType>(schema: S) {
  return withDefault(schema, null);
}

/** Returns the schema of a field that may be absent or null, and has the value `fallback` in either case. */
export function withDefault<S extends z.ZodMiniType, const D>(schema: S, fallback: D) {
  return z.pipe(
    z.nullish(schema),
    z.transform((value) => value ?? fallback),
  );
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

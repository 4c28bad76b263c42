import * as z from "zod/mini";
import { TaskId } from "../http/fields.ts";

/** Returns a schema with a description. */
export function described<S extends z.ZodMiniType>(schema: S, description: string): S {
  return schema.check(z.describe(description));
}

/**
 * Returns a schema with a name and a description. The description of the API contains such a schema once, among its
 * components.
 */
export function named<S extends z.ZodMiniType>(id: string, schema: S, description: string): S {
  z.globalRegistry.add(schema, { id, description });
  return schema;
}

/** Returns the schema of an optional member, with a description. */
export function maybe<S extends z.ZodMiniType>(schema: S, description: string) {
  return z.optional(described(schema, description));
}

export const Id = TaskId;
export const Count = z.int().check(z.minimum(0));
/** Schema of a time in Unix seconds. */
export const Time = z.int();
/** Schema of a duration in milliseconds. */
export const DurationMs = z.number().check(z.minimum(0));
/** Schema of an object with any members, e.g. the metadata that a client has given to a task. */
export const AnyObject = z.record(z.string(), z.unknown());
/** Schema of an object that has one count for each name, e.g. the number of tasks of each model. */
export const Counts = z.record(z.string(), Count);
/** Schema of the cursor of the next page of a list. It is null on the last page. */
export const NextCursor = described(
  z.nullable(z.string()),
  "`cursor` of the next page; null when there is none.",
);

/** Schema of one page of a list. */
export function pageOf<S extends z.ZodMiniType>(item: S) {
  return z.strictObject({ data: z.array(item), next_cursor: NextCursor });
}

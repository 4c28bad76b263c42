import * as z from "zod";
import type { IndexRow } from "../core/views/index-row.ts";

const Int = z.int();
const Text = z.string();

/**
 * Schema of a row of the index. The columns of the table, the messages of the queue and the lists of tasks
 * are derived from its fields. A new field needs a default in the schema, because the queue may still hold
 * rows that an older release has sent, and a migration that adds its column.
 */
export const RowSchema = z.object({
  id: Text,
  version: Int,
  account: Text.nullable(),
  model: Text,
  provider: Text.nullable(),
  status: z.enum(["pending", "processing", "completed", "failed"]),
  callback: z.enum(["waiting", "sending", "delivered", "failed"]).nullable(),
  attempts: Int,
  lastOutcome: Text.nullable(),
  lastStatusCode: Int.nullable(),
  host: Text.nullable(),
  createdAt: Int,
  completedAt: Int.nullable(),
  finishedAt: Int.nullable(),
  settledAt: Int.nullable(),
  firstAttemptMs: Int.nullable(),
  settledMs: Int.nullable(),
  dueAt: Int.nullable(),
  expiresAt: Int.nullable(),
}) satisfies z.ZodType<IndexRow>;

export type RowField = keyof z.infer<typeof RowSchema>;

export const FIELDS: readonly RowField[] = RowSchema.keyof().options;

/**
 * Returns the name of the column of the table `tasks` that holds a field of the row: the field's name in
 * snake_case.
 */
export function columnOf(field: RowField): string {
  return field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

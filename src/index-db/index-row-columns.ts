import * as z from "zod/mini";
import { CALLBACK_STATUSES } from "../core/record/callback.ts";
import { FOUND_BY } from "../core/record/finding.ts";
import { OUTCOMES } from "../core/record/outcome.ts";
import { REFUSAL_CLASSES } from "../core/record/refusal.ts";
import { FAILURE_CATEGORIES } from "../core/record/upstream.ts";
import type { IndexRow } from "../core/views/index-row.ts";

const Int = z.int();
const Text = z.string();

/**
 * Schema of an index row. The columns of the table, the messages of the queue and the lists of tasks are derived from
 * its fields. A new field needs two things: a default here, because the queue may still contain rows that an older
 * release has sent, and a step of the database schema (schema.ts) that adds its column.
 */
export const RowSchema = z.object({
  id: Text,
  version: Int,
  account: z.nullable(Text),
  model: Text,
  provider: z.nullable(Text),
  job: z.nullable(Text),
  status: z.enum(["pending", "processing", "completed", "failed"]),
  category: z.nullable(z.enum(FAILURE_CATEGORIES)),
  submission: z.nullable(z.enum(["queued", "sending", "accepted", "unknown", "refused"])),
  refusal: z.nullable(z.enum(REFUSAL_CLASSES)),
  keptOutputs: Int,
  keptBytes: Int,
  lostOutputs: Int,
  copyingOutputs: Int,
  callback: z.nullable(z.enum(CALLBACK_STATUSES)),
  attempts: Int,
  outcomes: z.partialRecord(z.enum(OUTCOMES), Int),
  lastOutcome: z.nullable(Text),
  lastStatusCode: z.nullable(Int),
  host: z.nullable(Text),
  createdAt: Int,
  completedAt: z.nullable(Int),
  finishedAt: z.nullable(Int),
  foundBy: z.nullable(z.enum(FOUND_BY)),
  foundLateMs: z.nullable(Int),
  jobMs: z.nullable(Int),
  refunded: Int,
  creditsHeld: Int,
  creditsEarned: Int,
  creditsReleased: Int,
  creditsRefunded: Int,
  settledAt: z.nullable(Int),
  firstAttemptMs: z.nullable(Int),
  settledMs: z.nullable(Int),
  dueAt: z.nullable(Int),
  expiresAt: z.nullable(Int),
}) satisfies z.ZodMiniType<IndexRow>;

export type RowField = keyof z.infer<typeof RowSchema>;

export const FIELDS: readonly RowField[] = z.keyof(RowSchema).options;

/** Returns the name of the column of the table `index_rows` for a field of the row: the field's name in snake_case. */
export function columnOf(field: RowField): string {
  return field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

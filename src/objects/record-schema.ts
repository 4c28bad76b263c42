import * as z from "zod";
import type { JsonObject } from "../core/json.ts";
import { OUTCOMES } from "../core/outcome.ts";
import type { TaskRecord } from "../core/task.ts";

const Json = z.custom<JsonObject>((value) => typeof value === "object" && value !== null);
const Time = z.int().nonnegative();

const Attempt = z.object({
  number: z.int(),
  series: z.int(),
  startedAt: Time,
  durationMs: z.int(),
  outcome: z.enum(OUTCOMES),
  statusCode: z.int().nullable(),
  responseExcerpt: z.string().nullable(),
});

const Callback = z.object({
  url: z.string(),
  attempts: z.array(Attempt),
  lastNumber: z.int(),
  series: z.object({ number: z.int(), started: z.int(), ordered: z.int().nullable() }),
  state: z.discriminatedUnion("kind", [
    z.object({ kind: z.literal("due"), nextAttemptAt: Time }),
    z.object({ kind: z.literal("in_flight"), number: z.int(), startedAt: Time }),
    z.object({ kind: z.literal("delivered") }),
    z.object({ kind: z.literal("failed") }),
  ]),
  deliveredAt: Time.nullable(),
  lastOrderKey: z.string().nullable(),
});

const base = {
  v: z.literal(1),
  version: z.int(),
  id: z.string(),
  model: z.string(),
  account: z.string().nullable(),
  createdAt: Time,
  origin: z.string(),
  registration: z
    .object({
      callbackUrl: z.string().nullable(),
      parameters: Json.nullable(),
      metadata: Json.nullable(),
      deadlineAt: Time.nullable(),
    })
    .nullable(),
};

const OpenTask = z.object({
  ...base,
  status: z.enum(["pending", "processing"]),
  callbackUrl: z.string().nullable(),
  deadlineAt: Time,
});

const TerminalTask = z.object({
  ...base,
  status: z.enum(["completed", "failed"]),
  body: z.string(),
  failure: z.object({ category: z.literal("timeout"), retryable: z.boolean() }).nullable(),
  callback: Callback.nullable(),
  expiresAt: Time,
});

const Record = z.discriminatedUnion("status", [OpenTask, TerminalTask]);

/** A stored record. @throws when it is not one that this release can read; nothing may act on it then. */
export function parseRecord(value: unknown): TaskRecord {
  const parsed = Record.safeParse(value);
  if (parsed.success) return parsed.data;
  const where = parsed.error.issues.map((issue) => issue.path.join(".")).join(", ");
  throw new Error(`unreadable task record: ${where}`);
}

import * as z from "zod";
import type { JsonObject } from "../core/json.ts";
import { NOTICE_KINDS } from "../core/notice.ts";
import { UNPUBLISHED } from "../core/publication.ts";
import { OUTCOMES } from "../core/outcome.ts";
import { FAILURE_CATEGORIES, type TaskRecord } from "../core/task.ts";

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
    z.object({ kind: z.literal("held") }),
    z.object({ kind: z.literal("due"), nextAttemptAt: Time }),
    z.object({ kind: z.literal("in_flight"), number: z.int(), startedAt: Time }),
    z.object({ kind: z.literal("delivered") }),
    z.object({ kind: z.literal("failed") }),
  ]),
  deliveredAt: Time.nullable(),
  lastOrderKey: z.string().nullable(),
});

const Job = z.object({ id: z.string(), endpoint: z.string().nullable() });
const Upstream = z.object({ connection: z.string(), job: Job.nullable() });

const Failure = z.object({ category: z.enum(FAILURE_CATEGORIES), retryable: z.boolean() });

const News = z.discriminatedUnion("status", [
  z.object({ status: z.enum(["queued", "processing"]) }),
  z.object({ status: z.literal("no_output") }),
  z.object({
    status: z.literal("completed"),
    completedAt: z.int().nullable(),
    urls: z.array(z.string()),
    metadata: Json,
  }),
  z.object({
    status: z.literal("failed"),
    error: z.object({ code: z.string(), message: z.string() }),
    failure: Failure,
  }),
]);

const Tracking = z.object({
  poll: z
    .object({ at: Time, tries: z.int(), notBefore: Time, isOutputMissing: z.boolean() })
    .nullable(),
  keptHooks: z.array(z.object({ jobId: z.string().nullable(), news: News })),
  isExtended: z.boolean(),
});

const Publication = z.object({ version: z.int(), retryAt: Time, tries: z.int() });
const Notice = z.object({
  kind: z.enum(NOTICE_KINDS),
  version: z.int(),
  retryAt: Time,
  tries: z.int(),
});

const Account = z.object({ id: z.string(), generation: z.int() });
const price = { accountId: z.string(), amount: z.int() };
const retry = { retryAt: Time, tries: z.int() };
const Charging = z.object({ kind: z.literal("charging"), ...retry });

const Credits = z.object({
  ...price,
  chargeId: z.string().nullable(),
  state: z.discriminatedUnion("kind", [
    z.object({ kind: z.literal("charged") }),
    z.object({ kind: z.literal("refunding"), ...retry }),
    z.object({ kind: z.literal("refunded") }),
  ]),
});

// Fields that have a default are younger than the first records.
const base = {
  v: z.literal(1),
  version: z.int(),
  id: z.string(),
  model: z.string(),
  account: Account.nullable(),
  upstream: Upstream.nullable().default(null),
  createdAt: Time,
  publication: Publication.default(UNPUBLISHED),
  origin: z.string(),
  registration: z
    .object({
      callbackUrl: z.string().nullable(),
      provider: z.string().nullable().default(null),
      parameters: Json.nullable(),
      metadata: Json.nullable(),
      deadlineAt: Time.nullable(),
      accountId: z.string().nullable(),
      credits: z.int().nullable(),
    })
    .nullable(),
};

const ChargingTask = z.object({
  ...base,
  account: z.null(),
  status: z.literal("charging"),
  callbackUrl: z.string().nullable(),
  deadlineAt: Time,
  credits: z.object({ ...price, chargeId: z.string(), state: Charging }),
});

const OpenTask = z.object({
  ...base,
  credits: Credits.nullable(),
  status: z.enum(["pending", "processing"]),
  callbackUrl: z.string().nullable(),
  deadlineAt: Time,
  tracking: Tracking.default({ poll: null, keptHooks: [], isExtended: false }),
});

const TerminalTask = z.object({
  ...base,
  credits: Credits.nullable(),
  status: z.enum(["completed", "failed"]),
  body: z.string(),
  failure: Failure.nullable(),
  callback: Callback.nullable(),
  finishedAt: Time.nullable().default(null),
  notices: z.array(Notice).default([]),
  expiresAt: Time,
});

const Record = z.discriminatedUnion("status", [ChargingTask, OpenTask, TerminalTask]);

/** A stored record. @throws when it is not one that this release can read; nothing may act on it then. */
export function parseRecord(value: unknown): TaskRecord {
  const parsed = Record.safeParse(value);
  if (parsed.success) return parsed.data;
  const where = parsed.error.issues.map((issue) => issue.path.join(".")).join(", ");
  throw new Error(`unreadable task record: ${where}`);
}

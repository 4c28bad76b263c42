import * as z from "zod";
import { type JsonObject, parseJson } from "../core/json.ts";
import { OF_A_LATER_RELEASE } from "../core/later-release.ts";
import { NO_COUNTS } from "../core/record/counts.ts";
import { NOTICE_KINDS } from "../core/record/notice.ts";
import { UNPUBLISHED } from "../core/record/publication.ts";
import { OUTCOMES } from "../core/record/outcome.ts";
import type { TaskRecord } from "../core/record/task.ts";
import { FAILURE_CATEGORIES } from "../core/record/upstream.ts";

// Schema of the stored record. Objects are loose: fields that a later release adds within the same `v`
// survive a write by this release. A record of a later `v` is refused and stays untouched: requests get
// `unavailable` (api/http/object-call.ts), and its alarm is repeated until that release is back.
const Json = z.custom<JsonObject>((value) => typeof value === "object" && value !== null);
const Time = z.int().nonnegative();

const Attempt = z.looseObject({
  number: z.int(),
  series: z.int(),
  startedAt: Time,
  durationMs: z.int(),
  outcome: z.enum(OUTCOMES),
  statusCode: z.int().nullable(),
  responseExcerpt: z.string().nullable(),
  cloudflareError: z.int().nullable().default(null),
});

const Callback = z.looseObject({
  url: z.string(),
  attempts: z.array(Attempt),
  lastNumber: z.int(),
  series: z.looseObject({ number: z.int(), started: z.int(), ordered: z.int().nullable() }),
  state: z.discriminatedUnion("kind", [
    z.looseObject({ kind: z.literal("held") }),
    z.looseObject({ kind: z.literal("due"), nextAttemptAt: Time }),
    z.looseObject({ kind: z.literal("in_flight"), number: z.int(), startedAt: Time }),
    z.looseObject({ kind: z.literal("delivered") }),
    z.looseObject({ kind: z.literal("failed") }),
  ]),
  deliveredAt: Time.nullable(),
  lastOrderKey: z.string().nullable(),
});

const Job = z.looseObject({ id: z.string(), endpoint: z.string().nullable() });
const Upstream = z.looseObject({ connection: z.string(), job: Job.nullable() });

const Failure = z.looseObject({ category: z.enum(FAILURE_CATEGORIES), retryable: z.boolean() });

const News = z.discriminatedUnion("status", [
  z.looseObject({ status: z.enum(["queued", "processing"]) }),
  z.looseObject({ status: z.literal("no_output") }),
  z.looseObject({
    status: z.literal("completed"),
    completedAt: z.int().nullable(),
    urls: z.array(z.string()),
    metadata: Json,
  }),
  z.looseObject({
    status: z.literal("failed"),
    error: z.looseObject({ code: z.string(), message: z.string() }),
    failure: Failure,
  }),
]);

const Tracking = z.looseObject({
  poll: z
    .looseObject({
      at: Time,
      tries: z.int(),
      nudges: z.int().default(0),
      notBefore: Time,
      isOutputMissing: z.boolean(),
    })
    .nullable(),
  keptHooks: z.array(z.looseObject({ jobId: z.string().nullable(), news: News })),
  isExtended: z.boolean(),
});

const Publication = z.looseObject({ version: z.int(), retryAt: Time, tries: z.int() });
const Counts = z.looseObject({ hooks: z.int(), polls: z.int() });
const Notice = z.looseObject({
  kind: z.enum(NOTICE_KINDS),
  version: z.int(),
  retryAt: Time,
  tries: z.int(),
});

const Account = z.looseObject({ id: z.string(), generation: z.int() });
const price = { accountId: z.string(), amount: z.int() };
const retry = { retryAt: Time, tries: z.int() };
const Charging = z.looseObject({ kind: z.literal("charging"), ...retry });

const Credits = z.looseObject({
  ...price,
  chargeId: z.string().nullable(),
  state: z.discriminatedUnion("kind", [
    z.looseObject({ kind: z.literal("charged") }),
    z.looseObject({ kind: z.literal("refunding"), ...retry }),
    z.looseObject({ kind: z.literal("refunded") }),
  ]),
});

// Fields with a default did not exist in the records of the first release.
const base = {
  v: z.literal(1),
  version: z.int(),
  id: z.string(),
  model: z.string(),
  account: Account.nullable(),
  upstream: Upstream.nullable().default(null),
  createdAt: Time,
  publication: Publication.default({ ...UNPUBLISHED }),
  counts: Counts.default({ ...NO_COUNTS }),
  origin: z.string(),
  registration: z
    .looseObject({
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

const ChargingTask = z.looseObject({
  ...base,
  account: z.null(),
  status: z.literal("charging"),
  callbackUrl: z.string().nullable(),
  deadlineAt: Time,
  credits: z.looseObject({ ...price, chargeId: z.string(), state: Charging }),
});

const OpenTask = z.looseObject({
  ...base,
  credits: Credits.nullable(),
  status: z.enum(["pending", "processing"]),
  callbackUrl: z.string().nullable(),
  deadlineAt: Time,
  tracking: Tracking.default({ poll: null, keptHooks: [], isExtended: false }),
});

const TerminalTask = z.looseObject({
  ...base,
  credits: Credits.nullable(),
  status: z.enum(["completed", "failed"]),
  body: z.string().refine(isBody),
  failure: Failure.nullable(),
  callback: Callback.nullable(),
  finishedAt: Time.nullable().default(null),
  notices: z.array(Notice).default([]),
  expiresAt: Time,
});

const Record = z.discriminatedUnion("status", [ChargingTask, OpenTask, TerminalTask]);

/** The fields of a stored callback body that the relay reads again after it has built the body. */
const Body = z.object({
  id: z.string(),
  completed_at: Time.optional(),
  error: z.object({ code: z.string() }).optional(),
});

function isBody(text: string): boolean {
  // Views append members behind the last one, so the text must end with the brace.
  return text.endsWith("}") && Body.safeParse(parseJson(text)).success;
}

/**
 * Parses the stored record of a task.
 * @throws when this release cannot read the record; the task is then neither changed nor acted upon, so that
 * a later release finds it as it was.
 */
export function parseRecord(value: unknown): TaskRecord {
  const parsed = Record.safeParse(value);
  if (parsed.success) return parsed.data;
  const where = parsed.error.issues.map((issue) => issue.path.join(".")).join(", ");
  const release = isLater(value) ? ` ${OF_A_LATER_RELEASE}` : "";
  throw new Error(`unreadable task record${release}: ${where}`);
}

function isLater(value: unknown): boolean {
  return z.looseObject({ v: z.number().gt(1) }).safeParse(value).success;
}

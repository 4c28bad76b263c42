import * as z from "zod/mini";
import { compiled } from "../compiled.ts";
import { type JsonObject, parseJson } from "../json.ts";
import { OF_A_LATER_RELEASE, OF_AN_EARLIER_BUILD } from "../other-format.ts";
import { CALLBACK_EVENTS } from "./callback-events.ts";
import { ANSWERED_KINDS, CANCEL_REASONS } from "./cancellation.ts";
import { FOUND_BY } from "./finding.ts";
import { NOTICE_KINDS } from "./operator-notice.ts";
import { PRICE_BASES } from "./price-rule.ts";
import { LOSS_REASONS } from "./outputs.ts";
import { ANSWER_KINDS } from "./poll-plan.ts";
import { REFUSAL_CLASSES } from "./refusal.ts";
import { HOOK_REFUSALS, UNREAD_HOOKS } from "./tracking.ts";
import type { TaskRecord } from "./task.ts";
import { CAUSES, OUTCOMES } from "./outcome.ts";
import { FAILURE_CATEGORIES } from "./upstream.ts";

// Schema of the stored record. A later release adds a field with a default, stated here and nowhere else, for records
// that lack it. Objects are loose: fields that a later release adds within the same `v` survive a write by this one. A
// record of another `v` is refused and not changed, and the alarm of the task is repeated (objects/task/task-object.ts).
// Requests get the answer `unavailable` until the later release is back, or `stored_by_earlier_build`
// (api/http/object-call.ts).

/** Number of the format in which task records are stored. */
const FORMAT = 2;

const Int = z.int();
const IntOrNull = z.nullable(Int);
const TextOrNull = z.nullable(z.string());
const Time = Int.check(z.nonnegative());
const TimeOrNull = z.nullable(Time);

// The reported state of a job.

const Json = z.custom<JsonObject>((value) => typeof value === "object" && value !== null);

const Failure = z.looseObject({
  category: z.enum(FAILURE_CATEGORIES),
  retryable: z.boolean(),
  requestIds: z.exactOptional(z.array(z.string())),
});

const Usage = z.record(z.string(), z.number());
const Used = { usage: z.exactOptional(Usage) };

const FailedNews = z.looseObject({
  status: z.literal("failed"),
  error: z.looseObject({ code: z.string(), message: z.string() }),
  failure: Failure,
  ...Used,
});

const News = z.discriminatedUnion("status", [
  z.looseObject({ status: z.enum(["queued", "processing"]) }),
  z.looseObject({ status: z.literal("no_output"), ...Used }),
  z.looseObject({
    status: z.literal("completed"),
    completedAt: z.nullable(z.int()),
    urls: z.array(z.string()),
    metadata: Json,
    ...Used,
  }),
  FailedNews,
]);

// The callback.

const AnswerHeaders = z.looseObject({
  contentType: TextOrNull,
  locationHost: TextOrNull,
  retryAfter: TextOrNull,
});

const EndpointSecret = z.looseObject({ id: z.string(), generation: Int });

const PastEndpoint = z.looseObject({
  name: z.string(),
  headers: z.exactOptional(z.looseObject({ names: z.array(z.string()) })),
  secret: z.exactOptional(EndpointSecret),
});

const Attempt = z.looseObject({
  number: Int,
  series: Int,
  url: TextOrNull,
  endpoint: z.exactOptional(PastEndpoint),
  dueAt: Time,
  startedAt: Time,
  durationMs: Int,
  outcome: z.enum(OUTCOMES),
  statusCode: IntOrNull,
  responseExcerpt: TextOrNull,
  cloudflareError: IntOrNull,
  cause: z.nullable(z.enum(CAUSES)),
  answer: z.nullable(AnswerHeaders),
  sentDigest: TextOrNull,
  keyName: TextOrNull,
});

const KeyedRedelivery = z.looseObject({ key: z.string(), callbackUrl: TextOrNull });

const KeyedRedeliveries = z.looseObject({
  operator: z.array(KeyedRedelivery),
  owner: z.array(KeyedRedelivery),
});

const sealed = { sealedWith: z.string(), nonce: z.string(), ciphertext: z.string() };

const EndpointCopy = z.looseObject({
  name: z.string(),
  headers: z.exactOptional(z.looseObject({ ...sealed, names: z.array(z.string()) })),
  secret: z.exactOptional(EndpointSecret),
});

const CallbackTerms = z.exactOptional(
  z.looseObject({
    scheduleMs: z.exactOptional(z.array(Time)),
    events: z.exactOptional(z.array(z.enum(CALLBACK_EVENTS))),
    endpoint: z.exactOptional(EndpointCopy),
  }),
);

const Callback = z.looseObject({
  url: z.string(),
  terms: CallbackTerms,
  attempts: z.array(Attempt),
  droppedOutcomes: z.partialRecord(z.enum(OUTCOMES), Int),
  lastNumber: Int,
  series: z.looseObject({
    number: Int,
    started: Int,
    ordered: IntOrNull,
    keyName: TextOrNull,
  }),
  state: z.discriminatedUnion("kind", [
    z.looseObject({ kind: z.literal("held") }),
    z.looseObject({
      kind: z.literal("due"),
      nextAttemptAt: Time,
      rest: z.exactOptional(z.looseObject({ until: Time, lookAt: Time })),
    }),
    z.looseObject({ kind: z.literal("in_flight"), number: Int, dueAt: Time, startedAt: Time }),
    z.looseObject({ kind: z.literal("delivered") }),
    z.looseObject({ kind: z.literal("failed") }),
  ]),
  deliveredAt: TimeOrNull,
  keyedRedeliveries: KeyedRedeliveries,
});

// The tracking of the job, and the task.

const Job = z.looseObject({ id: z.string(), endpoint: TextOrNull });
const Upstream = z.looseObject({ connection: z.string(), job: z.nullable(Job) });

const Finding = z.looseObject({ by: z.enum(FOUND_BY), lateMs: TimeOrNull });

const UpstreamAnswer = z.looseObject({
  kind: z.enum(ANSWER_KINDS),
  since: Time,
  statusCode: IntOrNull,
  word: TextOrNull,
});

const Hint = z.looseObject({
  at: Time,
  status: z.enum(["queued", "processing", "no_output", "completed", "failed"]),
});

const Poll = z.looseObject({
  attachedAt: Time,
  hookWaitMs: TimeOrNull,
  postponedTo: TimeOrNull,
  notBefore: Time,
  hasHeardRunning: z.boolean(),
  hint: z.nullable(Hint),
  answer: z.nullable(UpstreamAnswer),
  unansweredSince: TimeOrNull,
});

const Tracking = z.looseObject({
  poll: z.nullable(Poll),
  keptHooks: z.array(
    z.looseObject({ jobId: TextOrNull, news: News, unread: z.exactOptional(z.enum(UNREAD_HOOKS)) }),
  ),
  isExtended: z.boolean(),
  told: z.array(z.enum(NOTICE_KINDS)),
  refusedHooks: z.array(z.looseObject({ at: Time, reason: z.enum(HOOK_REFUSALS) })),
});

const IndexRowState = z.looseObject({
  version: Int,
  outdatedAt: TimeOrNull,
  hasFailed: z.boolean(),
});
const Counts = z.looseObject({ hooks: Int, polls: Int });
const Notice = z.looseObject({
  kind: z.enum(NOTICE_KINDS),
  version: Int,
  details: z.nullable(Json),
  retryAt: Time,
  tries: Int,
});

const OutputState = z.discriminatedUnion("kind", [
  z.looseObject({ kind: z.enum(["copying", "streamed"]) }),
  z.looseObject({ kind: z.literal("deleted"), isUnconfirmed: z.exactOptional(z.literal(true)) }),
  z.looseObject({ kind: z.literal("kept"), bytes: Int, mediaType: z.string() }),
  z.looseObject({ kind: z.literal("lost"), reason: z.enum(LOSS_REASONS) }),
]);

const Outputs = z.looseObject({
  expiresAt: Time,
  list: z.array(z.looseObject({ number: Int, source: TextOrNull, state: OutputState })),
  order: z.nullable(z.looseObject({ retryAt: Time, tries: Int })),
  answer: z.exactOptional(
    z.looseObject({ number: z.literal([0, 1]), contentType: TextOrNull, bytes: Int }),
  ),
  isUnproven: z.exactOptional(z.literal(true)),
});

const Late = z.looseObject({ hintAt: TimeOrNull, resultAt: TimeOrNull });

const UpstreamTimes = z.looseObject({
  attachedAt: Time,
  hookAt: TimeOrNull,
  askedAt: TimeOrNull,
});

const Account = z.looseObject({ id: z.string(), generation: Int });
const price = { accountId: z.string(), amount: Int };
const retry = { retryAt: Time, tries: Int };
const Charging = z.looseObject({ kind: z.literal("charging"), ...retry });
const Refunding = z.looseObject({ kind: z.literal("refunding"), ...retry });

const FinalPrice = z.looseObject({ credits: Int, basis: z.enum(PRICE_BASES) });

const Credits = z.looseObject({
  ...price,
  chargeId: TextOrNull,
  final: z.nullable(FinalPrice),
  state: z.discriminatedUnion("kind", [
    z.looseObject({ kind: z.literal("charged") }),
    z.looseObject({ kind: z.literal("releasing"), ...retry }),
    z.looseObject({ kind: z.literal("released"), at: Time }),
    Refunding,
    z.looseObject({ kind: z.literal("refunded"), at: Time }),
  ]),
});

const KeyNames = z.looseObject({
  registeredBy: TextOrNull,
  attachedBy: TextOrNull,
  reportedBy: TextOrNull,
});

const PriceRule = z.looseObject({
  by: z.enum(["usage", "field"]),
  name: z.string(),
  units: z.number(),
  rate: z.union([z.number(), z.record(z.string(), z.number())]),
  min: Int,
});

const Registration = z.looseObject({
  callbackUrl: TextOrNull,
  callbackScheduleMs: z.exactOptional(z.array(Time)),
  callbackEvents: z.exactOptional(z.array(z.enum(CALLBACK_EVENTS))),
  provider: TextOrNull,
  parameters: z.nullable(Json),
  metadata: z.nullable(Json),
  deadlineAt: TimeOrNull,
  accountId: TextOrNull,
  credits: IntOrNull,
  priceRule: z.exactOptional(PriceRule),
});

const CustomerKey = z.discriminatedUnion("kind", [
  z.looseObject({
    kind: z.literal("sealed"),
    ...sealed,
    unreadableSince: TimeOrNull,
  }),
  z.looseObject({ kind: z.literal("dropped") }),
]);

const QueueStay = z.looseObject({
  connections: z.array(z.string()),
  attempt: Int,
  startBy: Time,
  leave: z.looseObject(retry),
});

const RefusedAttempt = z.looseObject({
  connection: z.string(),
  at: Time,
  statusCode: Int,
  refusal: z.enum(REFUSAL_CLASSES),
});

const FailedJob = z.looseObject({
  connection: z.string(),
  job: Job,
  attempt: Int,
  at: Time,
  answeredAt: TimeOrNull,
  statusCode: IntOrNull,
  news: FailedNews,
  foundBy: z.enum(FOUND_BY),
});

const Submission = z.looseObject({
  id: z.string(),
  startedAt: Time,
  requestDigest: z.string(),
  endpoint: TextOrNull,
  isByOwner: z.boolean(),
  state: z.discriminatedUnion("kind", [
    z.looseObject({ kind: z.literal("queued"), failsAt: Time }),
    z.looseObject({ kind: z.literal("sending"), endsAt: Time }),
    z.looseObject({ kind: z.literal("unsent") }),
    z.looseObject({
      kind: z.literal("unknown"),
      answeredAt: TimeOrNull,
      statusCode: IntOrNull,
      failsAt: Time,
      askAt: TimeOrNull,
      tries: Int,
      refusal: z.exactOptional(z.enum(REFUSAL_CLASSES)),
    }),
    z.looseObject({ kind: z.literal("accepted"), answeredAt: TimeOrNull, statusCode: IntOrNull }),
  ]),
  answer: z.nullable(z.looseObject({ status: Int, contentType: TextOrNull, body: z.string() })),
  customerKey: z.nullable(CustomerKey),
  inputLinks: z.exactOptional(z.array(z.string())),
  isHookless: z.exactOptional(z.literal(true)),
  isCall: z.exactOptional(z.literal(true)),
  isPassedOn: z.exactOptional(z.literal(true)),
  stay: z.exactOptional(QueueStay),
  offer: z.exactOptional(z.looseObject({ name: z.string(), version: IntOrNull })),
  refusedAttempts: z.exactOptional(z.array(RefusedAttempt)),
  further: z.exactOptional(z.array(z.string())),
  failedJobs: z.exactOptional(z.array(FailedJob)),
});

const Cancellation = z.looseObject({
  reason: z.enum(CANCEL_REASONS),
  requestedAt: Time,
  endsAt: TimeOrNull,
  state: z.discriminatedUnion("kind", [
    z.looseObject({ kind: z.literal("asking"), ...retry }),
    z.looseObject({ kind: z.enum(ANSWERED_KINDS), answeredAt: Time, statusCode: IntOrNull }),
    z.looseObject({ kind: z.enum(["confirmed", "not_sent"]) }),
  ]),
});

const Trace = z.looseObject({ parent: z.string(), state: z.exactOptional(z.string()) });

const base = {
  v: z.literal(FORMAT),
  version: Int,
  id: z.string(),
  model: z.string(),
  account: z.nullable(Account),
  upstream: z.nullable(Upstream),
  createdAt: Time,
  recordedAt: Time,
  indexRow: IndexRowState,
  counts: Counts,
  keyNames: KeyNames,
  origin: z.string(),
  registration: z.nullable(Registration),
  submission: z.nullable(Submission),
  cancellation: z.nullable(Cancellation),
  trace: z.exactOptional(Trace),
};

const ChargingTask = z.looseObject({
  ...base,
  account: z.null(),
  status: z.literal("charging"),
  callbackUrl: TextOrNull,
  callbackTerms: CallbackTerms,
  deadlineAt: Time,
  credits: z.union([
    z.looseObject({ ...price, chargeId: z.string(), state: Charging }),
    z.looseObject({ ...price, chargeId: TextOrNull, state: Refunding }),
  ]),
});

const OpenTask = z.looseObject({
  ...base,
  credits: z.nullable(Credits),
  status: z.enum(["pending", "processing"]),
  callbackUrl: TextOrNull,
  callbackTerms: CallbackTerms,
  deadlineAt: Time,
  tracking: Tracking,
  notices: z.array(Notice),
});

const TerminalTask = z.looseObject({
  ...base,
  credits: z.nullable(Credits),
  status: z.enum(["completed", "failed"]),
  body: z.string().check(z.refine(isBody)),
  outputs: z.nullable(Outputs),
  failure: z.nullable(Failure),
  callback: z.nullable(Callback),
  finishedAt: Time,
  upstreamTimes: z.nullable(UpstreamTimes),
  found: z.nullable(Finding),
  usage: z.nullable(Usage),
  notices: z.array(Notice),
  late: z.nullable(Late),
  expiresAt: Time,
});

/**
 * Schema of a stored task record. It is compiled when the isolate starts, because the task's object checks the record
 * before each write.
 */
export const StoredRecord = compiled(
  z.discriminatedUnion("status", [ChargingTask, OpenTask, TerminalTask]),
);

/** Schema of the fields that the relay reads from a stored callback body. */
export const CallbackBody = compiled(
  z.object({
    id: z.string(),
    completed_at: z.optional(Time),
    error: z.optional(z.object({ code: z.string() })),
  }),
);

/**
 * The callback body that was last found to be valid. It is remembered because the record of a task is written several
 * times with the same body, which then need not be checked again.
 */
let latestBody = "";

function isBody(text: string): boolean {
  if (text === latestBody) return true;
  // Views append members behind the last one, so the text must end with the brace.
  const isValid = text.endsWith("}") && z.validate(CallbackBody, parseJson(text));
  if (isValid) latestBody = text;
  return isValid;
}

/**
 * Returns the stored record of a task in the present format.
 * @throws when this release cannot read the record. The task is then neither changed nor worked on, so that a later
 * release finds it unchanged.
 */
export function parseRecord(value: unknown): TaskRecord {
  const parsed = StoredRecord.safeParse(value);
  if (parsed.success) return parsed.data;
  const where = parsed.error.issues.map((issue) => issue.path.join(".")).join(", ");
  throw new Error(`unreadable task record${otherFormatOf(value)}: ${where}`);
}

/**
 * Checks that this release can read a record.
 * @throws when this release cannot read it.
 */
export function requireReadable(record: TaskRecord): void {
  if (!z.validate(StoredRecord, record)) parseRecord(record);
}

/**
 * Returns the part of an error message that says which builds know the format of a record. Empty when the record has
 * the present format, or states none.
 */
function otherFormatOf(value: unknown): string {
  const { data } = z.looseObject({ v: z.number() }).safeParse(value);
  if (data === undefined || data.v === FORMAT) return "";
  return data.v > FORMAT ? ` ${OF_A_LATER_RELEASE}` : ` ${OF_AN_EARLIER_BUILD}`;
}

import * as z from "zod";
import { messageOf } from "./http/issue-message.ts";
import type { JsonObject } from "../core/json.ts";

const MAX_TIME_S = 99_999_999_999;
const MAX_METADATA_BYTES = 4096;

/** Any 8-4-4-4-12 hex string; upper case is the same task. */
export const TaskId = z.guid().toLowerCase();

const Model = z.string().min(1).max(256);
export const AccountId = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,64}$/, "must be 1 to 64 of A-Z a-z 0-9 _ -");
/** Unix seconds. A time in milliseconds is beyond the maximum, and refused. */
const TimeS = z.int().min(0).max(MAX_TIME_S, "must be Unix seconds");

/** An object that `JSON.parse` made; what is in it is JSON already. */
const Json = z.custom<JsonObject>(isObject, "must be an object");

/** A field that may be missing; `null` means the same. */
function optional<S extends z.ZodType>(schema: S) {
  return schema.nullish().transform((value) => value ?? null);
}

const Labels = Json.refine(
  (labels) => new TextEncoder().encode(JSON.stringify(labels)).length <= MAX_METADATA_BYTES,
  `must be at most ${MAX_METADATA_BYTES} bytes of JSON`,
);

/** Body of `POST /v1/tasks`. */
export const Registration = z
  .strictObject({
    id: optional(TaskId),
    model: Model,
    callback_url: optional(z.string()),
    account: optional(AccountId),
    provider: optional(z.string()),
    parameters: optional(Json),
    metadata: optional(Labels),
    deadline_at: optional(TimeS),
    credits: optional(z.int().min(1)),
  })
  .refine(({ account, credits }) => credits === null || account !== null, {
    path: ["account"],
    message: "is required with credits",
  });

/** Body of `POST /v1/tasks/{id}/upstream`. Neither field can lead out of its place in a path. */
export const Attachment = z.strictObject({
  provider: z.string(),
  id: z.string().regex(/^[A-Za-z0-9][\w.:~-]{0,255}$/, "must be an id of the upstream"),
  endpoint: optional(
    z
      .string()
      .max(256)
      .regex(/^[A-Za-z0-9][\w.-]*(?:\/[A-Za-z0-9][\w.-]*)*$/, "must be a path like a/b/c"),
  ),
});

/** For a `POST` that takes no fields. */
export const NoFields = z.strictObject({});

/** Body of `POST /v1/tasks/{id}/redeliver`; an empty body means the defaults. */
export const RedeliverOrder = z.strictObject({
  attempts: z
    .int()
    .min(1)
    .max(3)
    .nullish()
    .transform((attempts) => attempts ?? 1),
  callback_url: optional(z.string()),
});

/** Body of `POST /v1/callbacks/test`. */
export const TestOrder = z.strictObject({
  callback_url: z.string(),
  status: z
    .enum(["completed", "failed"])
    .nullish()
    .transform((status) => status ?? "completed"),
});

/** Also beyond 2^53, where JSON.parse rounds: a seed must not cost a result. */
const Integer = z.number().refine(Number.isInteger, "must be an integer");

const MetadataFields = z.object({
  seed: Integer.nullish(),
  ratio: z.string().nullish(),
  duration: Integer.nullish(),
  resolution: z.string().nullish(),
  generate_audio: z.boolean().nullish(),
  framespersecond: Integer.nullish(),
});

/** The known fields have their types, and `null` there means absent; unknown ones are kept as they are. */
const Metadata = Json.superRefine((metadata, ctx) => {
  const issues = MetadataFields.safeParse(metadata, { error: messageOf }).error?.issues ?? [];
  for (const { path, message } of issues) {
    ctx.addIssue({ code: "custom", path: [...path], message, input: metadata });
  }
}).transform(withoutNulls);

const OutputUrl = z.string().refine(isHttpUrl, "must be an http(s) URL");

const Output = z.object({
  urls: z.array(OutputUrl).min(1),
  metadata: Metadata.nullish().transform((metadata) => metadata ?? {}),
});

const TaskError = z.object({ code: z.string().min(1), message: z.string().min(1) });

/** What every event may say, whatever its status; it counts when the event creates the task. */
const creation = {
  id: TaskId,
  model: optional(Model),
  created_at: optional(TimeS),
  callback_url: optional(z.string()),
  account: optional(AccountId),
};

const misplaced = z.null("does not belong to this status").optional();

/** Body of `POST /v1/events`: the task object itself. Unknown fields outside the metadata are dropped. */
export const TaskFinishEvent = z.discriminatedUnion("status", [
  z.object({
    ...creation,
    status: z.literal("processing"),
    completed_at: misplaced,
    output: misplaced,
    error: misplaced,
  }),
  z.object({
    ...creation,
    status: z.literal("completed"),
    completed_at: optional(TimeS),
    output: Output,
    error: misplaced,
  }),
  z.object({
    ...creation,
    status: z.literal("failed"),
    completed_at: misplaced,
    output: misplaced,
    error: TaskError,
  }),
]);

function isHttpUrl(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && (url.protocol === "https:" || url.protocol === "http:");
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function withoutNulls(metadata: JsonObject): JsonObject {
  const entries = Object.entries(metadata);
  return Object.fromEntries(
    entries.filter(([key, value]) => !(value === null && Object.hasOwn(MetadataFields.shape, key))),
  );
}

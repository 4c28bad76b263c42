import * as z from "zod";
import type { JsonObject } from "../../core/json.ts";
import { AccountId, JsonField, Model, optional, TaskId, TimeS } from "../http/fields.ts";
import { messageOf } from "../http/issue-message.ts";

/**
 * Schema of an integer of any size. JSON.parse rounds an integer beyond 2^53, but a result must not be
 * refused because its seed has many digits.
 */
const Integer = z.number().refine(Number.isInteger, "must be an integer");

const MetadataFields = z.object({
  seed: Integer.nullish(),
  ratio: z.string().nullish(),
  duration: Integer.nullish(),
  resolution: z.string().nullish(),
  generate_audio: z.boolean().nullish(),
  framespersecond: Integer.nullish(),
});

/**
 * Schema of the metadata of a result. Known fields must have their types or be null, which is read as absent.
 * Unknown fields are kept unchanged.
 */
const Metadata = JsonField.superRefine((metadata, ctx) => {
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

/**
 * Fields that an event of any status may have. All except `id` are used only when no task of this id exists,
 * so that the event creates it.
 */
const creation = {
  id: TaskId,
  model: optional(Model),
  created_at: optional(TimeS),
  callback_url: optional(z.string()),
  account: optional(AccountId),
};

const misplaced = z.null("does not belong to this status").optional();

/**
 * Body of `POST /v1/events`, in which an upstream reports the state of a task in the form of the task object
 * itself. Unknown fields are dropped, except in the metadata.
 */
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

function withoutNulls(metadata: JsonObject): JsonObject {
  const entries = Object.entries(metadata);
  return Object.fromEntries(
    entries.filter(([key, value]) => !(value === null && Object.hasOwn(MetadataFields.shape, key))),
  );
}

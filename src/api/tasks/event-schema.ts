import * as z from "zod/mini";
import { compiled } from "../../core/compiled.ts";
import { isLongInteger, type JsonObject } from "../../core/json.ts";
import { MAX_OUTPUT_URL_CHARS, MAX_OUTPUT_URLS } from "../../core/record/upstream.ts";
import { DAY_MS, SECOND_MS } from "../../core/time.ts";
import { isHttpUrl } from "../../core/url.ts";
import { decimalOf } from "../../providers/json-fields.ts";
import { isUsageName, MAX_USAGE_BYTES } from "../../providers/usage.ts";
import { CallbackEventList } from "../callbacks/callback-event-list.ts";
import { CallbackSchedule } from "../callbacks/callback-schedule.ts";
import {
  AccountId,
  listOf,
  MendedJsonField,
  optional,
  ReportedModel,
  ReportedText,
  TaskId,
  TimeS,
  withDefault,
} from "../http/fields.ts";
import { messageOf } from "../http/issue-message.ts";

const Integer = z.number().check(z.refine(Number.isInteger, "must be an integer"));
/**
 * Schema of an integer of any size. An integer that a JavaScript number cannot represent exactly becomes the text of
 * its digits, because a result must not be refused for a random seed with many digits.
 */
const AnyInteger = z.custom<number | string>(
  (value) => Number.isInteger(value) || isLongInteger(value),
  "must be an integer",
);

const MetadataFields = z.object({
  seed: z.nullish(AnyInteger),
  ratio: z.nullish(z.string()),
  duration: z.nullish(Integer),
  resolution: z.nullish(z.string()),
  generate_audio: z.nullish(z.boolean()),
  framespersecond: z.nullish(Integer),
});

/**
 * Schema of the metadata of a result. A known field must have its type or be null, and is dropped when it is null.
 * Unknown fields are kept unchanged.
 */
const Metadata = z.pipe(
  MendedJsonField.check(({ value, issues }) => {
    const found = MetadataFields.safeParse(value, { error: messageOf }).error?.issues ?? [];
    for (const { path, message } of found) {
      issues.push({ code: "custom", path: [...path], message, input: value });
    }
  }),
  z.transform(withoutNulls),
);

const OutputUrl = ReportedText.check(
  z.maxLength(MAX_OUTPUT_URL_CHARS, { abort: true }),
  z.refine(isHttpUrl, "must be an http(s) URL"),
);

const Output = z.object({
  urls: listOf(OutputUrl, MAX_OUTPUT_URLS),
  metadata: withDefault(Metadata, {}),
});

const UsageName = z
  .string()
  .check(z.refine(isUsageName, "must be a name like completion_tokens, of at most 64 characters"));
const NO_NUMBER = "must be a number";
/** Schema of an amount: a number, or a text that contains a number. */
const Amount = z.pipe(
  z
    .union([z.number(), z.string()], NO_NUMBER)
    .check(z.refine((amount) => decimalOf(amount) !== null, NO_NUMBER)),
  z.transform(Number),
);
/**
 * Schema of the consumption or cost of a job: numbers under the names that the upstream uses. A member that is null is
 * dropped.
 */
const Usage = z.pipe(
  z
    .record(UsageName, z.nullable(Amount))
    .check(
      z.refine(
        (usage) => JSON.stringify(usage).length <= MAX_USAGE_BYTES,
        `must be at most ${MAX_USAGE_BYTES} bytes of JSON`,
      ),
    ),
  z.transform(numbersIn),
);

const NonEmpty = ReportedText.check(z.minLength(1));
const TaskError = z.object({ code: NonEmpty, message: NonEmpty });

const CreatedAtS = TimeS.check(
  z.refine(
    (seconds) => seconds * SECOND_MS <= Date.now() + DAY_MS,
    "must be at most one day in the future",
  ),
);

/**
 * Fields that an event with any status may have. All except `id` are used only when the event creates the task, i.e.
 * when there is no task with this id.
 */
const creation = {
  id: TaskId,
  model: optional(ReportedModel),
  created_at: optional(CreatedAtS),
  callback_url: optional(ReportedText),
  callback_schedule_s: optional(CallbackSchedule),
  callback_events: optional(CallbackEventList),
  account: optional(AccountId),
};

const misplaced = z.optional(z.null("does not belong to this status"));

/**
 * Body of `POST /v1/events`, with which an upstream reports the state of a task. Its members are those of a task in the
 * API's responses. Unknown fields are dropped, except in the metadata. The schema is compiled when the isolate starts.
 */
export const TaskFinishEvent = compiled(
  z.discriminatedUnion("status", [
    z.object({
      ...creation,
      status: z.literal("processing"),
      completed_at: misplaced,
      output: misplaced,
      error: misplaced,
      usage: misplaced,
    }),
    z.object({
      ...creation,
      status: z.literal("completed"),
      completed_at: optional(TimeS),
      output: Output,
      error: misplaced,
      usage: optional(Usage),
    }),
    z.object({
      ...creation,
      status: z.literal("failed"),
      completed_at: misplaced,
      output: misplaced,
      error: TaskError,
      usage: optional(Usage),
    }),
  ]),
);

function withoutNulls(metadata: JsonObject): JsonObject {
  const entries = Object.entries(metadata);
  return Object.fromEntries(
    entries.filter(([key, value]) => !(value === null && Object.hasOwn(MetadataFields.shape, key))),
  );
}

function numbersIn(usage: Readonly<Record<string, number | null>>): Record<string, number> {
  return Object.fromEntries(
    Object.entries(usage).flatMap(([name, value]) => (value === null ? [] : [[name, value]])),
  );
}

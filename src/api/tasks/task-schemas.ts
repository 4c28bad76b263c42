import * as z from "zod/mini";
import { compiled } from "../../core/compiled.ts";
import { PriceForm } from "../../config/price.ts";
import { type JsonObject, jsonEqual, wellFormedMembers } from "../../core/json.ts";
import { CallbackEventList } from "../callbacks/callback-event-list.ts";
import { CallbackSchedule } from "../callbacks/callback-schedule.ts";
import {
  AccountId,
  JsonField,
  MendedJsonField,
  Model,
  NOT_WELL_FORMED,
  optional,
  TaskId,
  TimeS,
  withDefault,
} from "../http/fields.ts";

const MAX_METADATA_BYTES = 4096;

/** Schema of the metadata that a client gives to a task: a JSON object of at most 4 KB. */
export const Labels = JsonField.check(
  z.refine(
    (labels) => new TextEncoder().encode(JSON.stringify(labels)).length <= MAX_METADATA_BYTES,
    `must be at most ${MAX_METADATA_BYTES} bytes of JSON`,
  ),
  z.refine(isWellFormed, NOT_WELL_FORMED),
);

/** Body of `POST /v1/tasks`, which registers a task. The schema is compiled when the isolate starts. */
export const Registration = compiled(
  z
    .strictObject({
      id: optional(TaskId),
      model: Model,
      callback_url: optional(z.string()),
      callback_schedule_s: optional(CallbackSchedule),
      callback_events: optional(CallbackEventList),
      account: optional(AccountId),
      provider: optional(z.string()),
      parameters: optional(MendedJsonField),
      metadata: optional(Labels),
      deadline_at: optional(TimeS),
      credits: optional(z.int().check(z.minimum(1))),
      price: optional(PriceForm),
    })
    .check(
      z.refine(({ price, credits }) => credits === null || price === null, {
        path: ["credits"],
        message: "must be left out beside price",
      }),
      z.refine(({ account, price }) => price === null || account !== null, {
        path: ["account"],
        message: "is required with price",
      }),
      z.refine(({ account, credits }) => credits === null || account !== null, {
        path: ["account"],
        message: "is required with credits",
      }),
    ),
);

/**
 * Body of `POST /v1/tasks/{id}/upstream`, which tells the relay which job of the provider belongs to a task. `id` and
 * `endpoint` become part of the URL of polls, so their patterns exclude characters that would change where this URL
 * leads. An `id` may contain the characters of base64, because it is percent-encoded as one segment of the path. The
 * schema is compiled when the isolate starts.
 */
export const Attachment = compiled(
  z.strictObject({
    provider: z.string(),
    id: z
      .string()
      .check(z.regex(/^[A-Za-z0-9][\w.:~=/+-]{0,511}$/, "must be an id of the upstream")),
    endpoint: optional(
      z
        .string()
        .check(
          z.maxLength(256),
          z.regex(/^[A-Za-z0-9][\w.-]*(?:\/[A-Za-z0-9][\w.-]*)*$/, "must be a path like a/b/c"),
        ),
    ),
  }),
);

/** Body of `POST /v1/tasks/{id}/redeliver`, which orders more attempts of the task's callback. */
export const RedeliverOrder = z
  .strictObject({
    attempts: withDefault(z.int().check(z.minimum(1), z.maximum(3)), 1),
    callback_url: optional(z.string()),
    endpoint: optional(z.string()),
  })
  .check(
    z.refine(({ callback_url: url, endpoint }) => url === null || endpoint === null, {
      path: ["endpoint"],
      message: "must be left out beside callback_url",
    }),
  );

/** Tells whether all texts and member names in a JSON object are well-formed Unicode. */
function isWellFormed(object: JsonObject): boolean {
  return jsonEqual(object, wellFormedMembers(object));
}

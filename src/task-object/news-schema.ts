import * as z from "zod/mini";
import type { JsonObject } from "../core/json.ts";
import { FAILURE_CATEGORIES } from "../core/record/upstream.ts";

// Schemas of the reported state of a job (news), as it is stored with a task. Objects are loose, as in
// record-schema.ts.
export const Json = z.custom<JsonObject>((value) => typeof value === "object" && value !== null);

export const Failure = z.looseObject({
  category: z.enum(FAILURE_CATEGORIES),
  retryable: z.boolean(),
});

export const Usage = z.record(z.string(), z.number());
const Used = { usage: z.exactOptional(Usage) };

export const News = z.discriminatedUnion("status", [
  z.looseObject({ status: z.enum(["queued", "processing"]) }),
  z.looseObject({ status: z.literal("no_output"), ...Used }),
  z.looseObject({
    status: z.literal("completed"),
    completedAt: z.nullable(z.int()),
    urls: z.array(z.string()),
    metadata: Json,
    ...Used,
  }),
  z.looseObject({
    status: z.literal("failed"),
    error: z.looseObject({ code: z.string(), message: z.string() }),
    failure: Failure,
    ...Used,
  }),
]);

import * as z from "zod/mini";
import { RATE_LIMITS } from "../../config/rate-limits.ts";
import { OfferForm } from "../offers/offer-form.openapi.ts";
import { Count, described } from "../shapes/described.ts";

const Text = z.string();

const Limits = Object.fromEntries(RATE_LIMITS.map((name) => [name, z.boolean()]));

export const Settings = z.strictObject({
  CALLBACK_SCHEDULE_S: Text,
  CALLBACK_TIMEOUT_S: z.number(),
  RETENTION_DAYS: z.number(),
  TASK_DEADLINE_HOURS: z.number(),
  MAX_BODY_KB: z.number(),
  MAX_SUBMIT_MB: z.number(),
  SUBMIT_TIMEOUT_S: z.number(),
  ASYNC_TIMEOUT_S: z.number(),
  MAX_ASYNC_MB: z.number(),
  QUEUE_MINUTES: z.number(),
  SUBMIT_UNKNOWN_MINUTES: z.number(),
  OFFERS: described(
    z.array(OfferForm),
    "What accounts may submit by the variable `OFFERS`; empty when it is not set.",
  ),
  OUTPUTS: described(z.boolean(), "Whether the relay keeps outputs, because it has a bucket."),
  OUTPUTS_S3_URL: z.nullable(Text),
  OUTPUTS_S3_REGION: z.nullable(Text),
  OUTPUTS_S3_BUCKET: z.nullable(Text),
  OUTPUTS_URL: described(
    z.nullable(Text),
    "Origin of the links to outputs, which is `PUBLIC_URL` by default.",
  ),
  OUTPUT_DAYS: z.number(),
  MAX_OUTPUT_MB: z.number(),
  ALLOW_LOCAL_CALLBACKS: z.boolean(),
  ALLOW_IP_CALLBACKS: z.boolean(),
  EXTRA_BASE_HOSTS: Text,
  PAUSED: z.boolean(),
  LOG: z.enum(["all", "normal"]),
  PLAN: z.enum(["paid", "free"]),
  RATE_LIMITS: described(Text, "The rate limits that the relay counts itself; empty without any."),
  ERROR_TEXT: z.enum(["generic", "upstream"]),
  INDEX_DB: z.boolean(),
  INDEX_OBJECT: z.boolean(),
  INDEX_RETENTION_DAYS: z.number(),
  INDEX_DELAY_S: z.number(),
  INDEX_SHARD_HOURS: z.nullable(z.number()),
  SANDBOX: z.boolean(),
  LISTEN: z.boolean(),
  JURISDICTION: z.nullable(Text),
  LOCATION_HINT: z.nullable(Text),
  PUBLIC_URL: z.nullable(Text),
  SETTLEMENT_URL: z.nullable(Text),
  secrets: described(z.record(Text, Count), "Number of each kind of secret."),
  OPERATOR_CALLBACK_URL: z.nullable(Text),
  OPERATOR_EVENTS: Text,
  OPERATOR_DIGEST_MINUTES: z.nullable(z.number()),
  SILENCE_MINUTES: z.nullable(z.number()),
  OPERATOR_CALLBACK_FORMAT: z.enum(["slack", "standard"]),
  ...Limits,
});

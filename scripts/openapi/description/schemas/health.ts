import * as z from "zod/mini";
import { RATE_LIMITS } from "../../../../src/config/rate-limits.ts";
import {
  AnyObject,
  Count,
  described,
  maybe,
  named,
  Time,
} from "../../../../src/api/shapes/described.ts";

const Lag = z.nullable(z.number());

const Connection = z.strictObject({
  provider: z.string(),
  key: described(
    z.enum(["set", "refused", "not_needed"]),
    "Whether the provider has lately refused the key, or takes none.",
  ),
  refused_at: z.optional(Time),
  hooks: maybe(z.literal("missing"), "Hooks are expected and none come."),
  unclear: maybe(
    z.strictObject({
      at: Time,
      status_code: z.nullable(z.int()),
      word: z.nullable(z.string()),
    }),
    "The last answer to a poll that was not understood.",
  ),
});

const WithoutKey = z.strictObject({
  provider: z.string(),
  needs: described(
    z.array(z.string()),
    "Settings that it needs, e.g. `FAL_KEY`; empty for the sandbox that is switched on.",
  ),
  accepts_tasks: described(
    z.boolean(),
    "Whether tasks may name it; without a key their results come by hooks only.",
  ),
});

const Index = z.strictObject({
  databases: Count,
  is_reachable: described(z.boolean(), "Whether all databases answered within 2 seconds."),
  counted_at: described(z.nullable(Time), "When the cron trigger last found something to count."),
  lag_ms: described(
    z.strictObject({ p50: Lag, p95: Lag, p99: Lag }),
    "How long tasks of this and the previous hour took to reach it once they were settled.",
  ),
  size_bytes: described(z.nullable(Count), "Size of the largest database."),
});

const Text = z.string();
const Limits = Object.fromEntries(RATE_LIMITS.map((name) => [name, z.boolean()]));

const Limit = z.strictObject({
  values: z.nullable(z.array(z.union([Text, z.number(), z.boolean()]))),
  min: z.nullable(z.number()),
  max: z.nullable(z.number()),
  optional: z.boolean(),
});

const Offer = z.strictObject({
  connection: Text,
  key: z.nullable(z.literal("customer")),
  path: z.nullable(Text),
  models: z.array(Text),
  limits: z.record(Text, Limit),
  price: z.nullable(z.strictObject({ credits: Count })),
  body: described(z.nullable(AnyObject), "What a caller of the offer's tool may set."),
  tool: described(z.nullable(Text), "Name of the tool at `POST /mcp`."),
});

const Settings = z.strictObject({
  CALLBACK_SCHEDULE_S: Text,
  CALLBACK_TIMEOUT_S: z.number(),
  RETENTION_DAYS: z.number(),
  TASK_DEADLINE_HOURS: z.number(),
  MAX_BODY_KB: z.number(),
  MAX_SUBMIT_MB: z.number(),
  SUBMIT_TIMEOUT_S: z.number(),
  SUBMIT_UNKNOWN_MINUTES: z.number(),
  OFFERS: described(z.array(Offer), "What accounts may submit, in the form of the variable."),
  OUTPUTS: described(z.boolean(), "Whether the relay keeps outputs, because the bucket is bound."),
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
  ERROR_TEXT: z.enum(["generic", "upstream"]),
  INDEX_DB: z.boolean(),
  INDEX_RETENTION_DAYS: z.number(),
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

export const Health = named(
  "Health",
  z.strictObject({
    status: z.literal("ok"),
    version: described(z.nullable(Text), "Version of the Worker; null where none is named."),
    paused: z.boolean(),
    configuration: maybe(Settings, "The settings. Only operators see them."),
    connections: maybe(
      z.record(Text, Connection),
      "The connections that have an API key. Only operators see them.",
    ),
    without_key: maybe(
      z.record(Text, WithoutKey),
      "The connections without an API key, and the providers without a connection, by name. Only operators see them.",
    ),
    disabled: maybe(
      z.array(
        z.strictObject({
          name: Text,
          provider: Text,
          issues: z.array(z.strictObject({ path: Text, message: Text })),
        }),
      ),
      "The connections that declare their upstream and are not valid, with the place of each fault. Only operators see them.",
    ),
    index: maybe(
      z.nullable(Index),
      "The index as it was at most 30 seconds ago; null where none is bound. Only operators see it.",
    ),
  }),
  "State of a relay that is configured.",
);

export const NotConfigured = named(
  "NotConfigured",
  z.strictObject({
    status: z.literal("not_configured"),
    issues: z.array(z.strictObject({ path: Text, message: Text })),
  }),
  "The variables that are missing or malformed.",
);

import * as z from "zod/mini";
import { Connection, Pool, WithoutKey } from "./connection-health.openapi.ts";
import { Index } from "./index-health.openapi.ts";
import { Settings } from "./settings.openapi.ts";
import { jsonAnswer, type RouteDescription } from "../http/route.openapi.ts";
import { described, maybe, named } from "../shapes/described.ts";

const Text = z.string();

const Health = named(
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
    pools: maybe(
      z.record(Text, Pool),
      "The pools of connections, by name. Only operators see them.",
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
      "The connections and pools whose entry in `CONNECTIONS` is not valid, with the place of each fault. Only operators see them.",
    ),
    index: maybe(
      z.nullable(Index),
      "The index as it was at most 30 seconds ago; null where none is bound. Only operators see it.",
    ),
    store: maybe(
      z.nullable(
        z.strictObject({
          fault: described(
            z.nullable(Text),
            "What a read of the store has shown to be wrong with it or its settings; null for nothing.",
          ),
        }),
      ),
      "The S3-compatible store of outputs as it was at most 30 seconds ago; null where there is none. Only operators see it.",
    ),
  }),
  "State of a relay that is configured.",
);

const NotConfigured = named(
  "NotConfigured",
  z.strictObject({
    status: z.literal("not_configured"),
    issues: z.array(z.strictObject({ path: Text, message: Text })),
  }),
  "The variables that are missing or malformed.",
);

export const readHealthDescription = {
  audience: "operator",
  summary: "Report whether the relay is configured; the operator also sees the settings",
  details:
    "Also says which version is deployed (null where the platform names none), and whether the relay is paused. The operator also sees what each connection to a provider needs, and the state of the index.",
  answers: {
    200: jsonAnswer("configured", Health, { status: "ok", version: null, paused: false }),
    503: jsonAnswer(
      "not configured; issues names the variables",
      NotConfigured,
      {
        status: "not_configured",
        issues: [{ path: "RELAY_SECRET", message: "is required" }],
      },
      { "Retry-After": "always" },
    ),
  },
  problems: ["unavailable"],
} as const satisfies RouteDescription;

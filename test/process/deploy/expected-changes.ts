// Requests with which wrangler creates and changes a relay.
import { expect } from "vitest";
import { OBJECT_CLASSES } from "../../../src/config/object-bindings.ts";
import type { RateLimitName } from "../../../src/config/rate-limits.ts";
import { SECRETS } from "../harness/client.ts";

/** Requests in 60 s that each rate limit permits, and the number of its namespace. */
const LIMITS: Readonly<Record<RateLimitName, readonly [limit: number, namespace: number]>> = {
  LIMIT_TESTS: [10, 0],
  LIMIT_BULK: [6, 1],
  LIMIT_LISTS: [60, 2],
  LIMIT_SUBMITS: [60, 5],
  LIMIT_LINKS: [120, 4],
  LIMIT_REFUSALS: [60, 3],
};
const limits = (from: number) =>
  Object.entries(LIMITS).map(([name, [limit, namespace]]) => ({
    name,
    type: "ratelimit",
    namespace_id: String(from + namespace),
    simple: { limit, period: 60 },
  }));
export const secretBindings = Object.entries(SECRETS)
  .map(([name, text]) => ({ name, type: "secret_text", text }))
  .toReversed();

export const OBSERVABILITY = { enabled: true, logs: { invocation_logs: false } };
export const DEFERRED = { mode: "deferred", max_delay: 900 };

interface Created {
  readonly bindings?: readonly object[];
  readonly migrations?: object;
}

/** Returns what is uploaded with the code, the same for production and preview but for these parts. */
export const version = (limitsFrom: number, more: Created) => ({
  main_module: "index.js",
  compatibility_date: "2026-10-20",
  compatibility_flags: ["global_fetch_strictly_public"],
  keep_bindings: ["secret_text", "secret_key"],
  assets: { jwt: "files", config: { _headers: expect.stringContaining("/docs/errors\n") } },
  observability: OBSERVABILITY,
  ...more,
  bindings: [
    ...(more.bindings ?? []),
    ...Object.entries(OBJECT_CLASSES).map(([name, class_name]) => {
      return { name, type: "durable_object_namespace", class_name };
    }),
    { name: "INDEX_DB", type: "d1", id: expect.any(String) },
    ...limits(limitsFrom),
    { name: "VERSION", type: "version_metadata" },
    { name: "ASSETS", type: "assets" },
  ],
});
export const upload = (name: string, limitsFrom: number, more: Created) => ({
  request: `PUT workers/scripts/${name}`,
  body: { ...version(limitsFrom, more), code_update_strategy: DEFERRED },
});
export const MIGRATIONS = {
  new_tag: "v1",
  steps: [{ new_sqlite_classes: Object.values(OBJECT_CLASSES) }],
};
export const database = (name: string) => ({ request: "POST d1/database", body: { name } });
export const script = (name: string, more: object = {}) => ({
  request: `PATCH workers/scripts/${name}/script-settings`,
  body: { tags: ["cf:service=task-relay"], ...more },
});
export const subdomain = (name: string, enabled: boolean) => ({
  request: `POST workers/scripts/${name}/subdomain`,
  body: { enabled, previews_enabled: false },
});
export const domains = (method: string, part: string, body: unknown) => ({
  request: `${method} workers/scripts/task-relay/domains/${part}`,
  body,
});
export const schedules = (name: string, ...crons: readonly string[]) => ({
  request: `PUT workers/scripts/${name}/schedules`,
  body: crons.map((cron) => ({ cron })),
});
export const CRON = schedules("task-relay", "*/10 * * * *");

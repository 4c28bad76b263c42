import * as z from "zod";
import { FILLING_SHARE, maxIndexBytes } from "../../src/index-db/limits.ts";
import { type Finding, ok, problem, unchecked } from "./finding.ts";
import type { Answer } from "./relay.ts";

const Stats = z.looseObject({
  counted_at: z.number().nullable(),
  index: z.looseObject({
    lag_ms: z.looseObject({ p95: z.number().nullable() }),
    overdue: z.looseObject({ tasks: z.int(), oldest_age_ms: z.number().nullable() }),
  }),
});
const Refusal = z.looseObject({ code: z.string() });
const MAX_LAG_MS = 60_000;

/**
 * Checks the index of the relay: how long after a change of a task its row is written, how many tasks are
 * overdue for a change that their alarm should have made, and the size of the largest database.
 * @param metrics the answer of `GET /metrics`.
 * @param store plan of the Cloudflare account, and whether an object stores the index, as on plain workerd.
 * @param isPlain true for a relay in plain workerd.
 */
export function indexFindings(
  stats: Answer,
  metrics: Answer,
  store: Parameters<typeof maxIndexBytes>[0],
  isPlain = false,
): readonly Finding[] {
  const found = Stats.safeParse(stats.json).data;
  if (found === undefined) return [withoutStats(stats, isPlain)];
  return [
    lagFinding(found, isPlain),
    overdueFinding(found.index.overdue),
    sizeFinding(metrics.text, maxIndexBytes(store)),
  ];
}

function withoutStats({ status, json }: Answer, isPlain: boolean): Finding {
  const code = Refusal.safeParse(json).data?.code;
  if (code === "index_disabled") {
    const how = isPlain
      ? "bind INDEX_OBJECT as in ops/workerd.capnp"
      : "npm run setup -- --index on";
    return unchecked(`late alarms: there is no index (${how})`);
  }
  return problem(
    `index: the relay answered ${status} ${code ?? ""}`.trim(),
    isPlain
      ? "read the log for index.unreachable, look at the disk, and in a cluster compare the cluster-key of all nodes"
      : "check the D1 database: npx wrangler d1 info task-relay-index",
  );
}

function lagFinding(
  { counted_at: countedAt, index }: z.output<typeof Stats>,
  isPlain: boolean,
): Finding {
  if (countedAt === null) return ok("index: on; not counted yet");
  const { p95: p95Ms } = index.lag_ms;
  if (p95Ms === null) return ok("index: on; nothing was written in the last day");
  const text = `index: 95 % of the rows arrive within ${Math.ceil(p95Ms / 1000)} s`;
  if (p95Ms <= MAX_LAG_MS) return ok(text);
  const cure = isPlain
    ? "look at the load of the machine and its disk"
    : "bind the queue (npm run setup -- --queue), or split the index";
  return problem(text, cure);
}

type Overdue = z.output<typeof Stats>["index"]["overdue"];

function overdueFinding({ tasks, oldest_age_ms: oldestMs }: Overdue): Finding {
  if (tasks === 0) return ok("late alarms: none");
  const age = oldestMs === null ? "" : `, the oldest by ${Math.ceil(oldestMs / 60_000)} min`;
  return problem(
    `late alarms: ${tasks} tasks should have changed${age}`,
    'read the log for quota, configuration or D1 errors; once they end, wait for the cron trigger, or POST /v1/wake {"all": true} and repeat it with "cursor" until next_cursor is null',
  );
}

const megabytes = (bytes: number) => `${Math.ceil(bytes / 1_000_000).toLocaleString("en")} MB`;

/** Checks the size of the largest database of the index, as the text of `GET /metrics` states it. */
function sizeFinding(metrics: string, maxBytes: number): Finding {
  const sizes = [...metrics.matchAll(/^task_relay_index_bytes(?:\{[^}]*\})? (\d+)/gm)];
  if (sizes.length === 0) return unchecked("index size: this relay does not report it");
  const largest = Math.max(...sizes.map(([, bytes]) => Number(bytes)));
  const most = maxBytes === Infinity ? "" : ` of ${megabytes(maxBytes)}`;
  const text = `index size: ${megabytes(largest)}${most}`;
  if (largest < FILLING_SHARE * maxBytes) return ok(text);
  return problem(text, "keep rows for fewer days, or split the index (docs/index.md)");
}

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as z from "zod";
import { WranglerDev } from "../test/process/harness/wrangler-dev.ts";
import { seeded } from "../test/process/harness/seeded.ts";
import { latencies } from "./index-latency.ts";

// How the index answers over a million rows, what its consumer writes, and what it costs the tasks:
// `node bench/index.ts`, about 3 minutes. `BENCH_ROWS` for fewer rows (0: only the tasks), `BENCH_SEED` for others.

const ROWS = Number(process.env["BENCH_ROWS"] ?? 1_000_000);
const SEED = Number(process.env["BENCH_SEED"] ?? 1);
const CALLS = 300;
const FILL_AT_ONCE = 50_000;
const TARGET_MS = 50;
const TARGET_ROWS_PER_S = 1_000;
const BATCHES = 200;
const BATCH = 100;
const DAY_MS = 86_400_000;
const KEPT_MS = 28 * DAY_MS;

const Done = z.object({ ms: z.array(z.number()), rows: z.int() });
type Done = z.infer<typeof Done>;
type Filters = Readonly<Record<(typeof FILTERS)[number], string | number | null>>;
const FILTERS = [
  "status",
  "callback",
  "model",
  "provider",
  "account",
  "host",
  "since",
  "until",
] as const;
const NONE = Object.fromEntries(FILTERS.map((name) => [name, null]));

const random = seeded(SEED);
const now = Date.now();
const home = await mkdtemp(join(tmpdir(), "task-relay-bench-"));
try {
  if (ROWS > 0) await index();
  await latencies();
} finally {
  await rm(home, { recursive: true, force: true });
}

async function index(): Promise<void> {
  await using bench = await WranglerDev.start({ vars: {}, config: await config() });
  const startedAt = performance.now();
  for (let from = 0; from < ROWS; from += FILL_AT_ONCE) {
    const to = Math.min(from + FILL_AT_ONCE, ROWS);
    await ask(bench, { kind: "fill", from, to, rows: ROWS });
  }
  await ask(bench, { kind: "rollUpAll", calls: 1 });
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(0);
  console.log(`${ROWS} rows, made in ${seconds} s (seed ${SEED}); ${CALLS} calls each, in ms`);
  await reads(bench);
  await house(bench);
  await writes(bench);
}

async function reads(bench: WranglerDev): Promise<void> {
  await list(bench, "no filter", () => ({}));
  await list(bench, "status=failed", () => ({ status: "failed" }));
  await list(bench, "status=processing", () => ({ status: "processing" }));
  await list(bench, "callback=failed", () => ({ callback: "failed" }));
  await list(bench, "host, callback=failed", () => ({ host: host(), callback: "failed" }));
  await list(bench, "host, callback=failed, since", () => {
    return { host: host(), callback: "failed", since: now - DAY_MS };
  });
  await list(bench, "account", () => ({ account: account() }));
  await list(bench, "the biggest account, status=failed", () => {
    return { account: "account-big", status: "failed" };
  });
  await list(bench, "model that does not exist", () => ({ model: "none" }));
  await list(bench, "the biggest account, no such model", () => {
    return { account: "account-big", model: "none" };
  });
  await list(bench, "deep cursor", () => ({}), deep);
  await list(bench, "deep cursor, no such model", () => ({ model: "none" }), deep);
  const day = await ask(bench, { kind: "statistics", sinceMs: 25 * 3_600_000, calls: CALLS });
  print("statistics of a day", day, TARGET_MS);
  const all = await ask(bench, { kind: "statistics", sinceMs: 2 * KEPT_MS, calls: 20 });
  print("statistics of all 28 days", all, TARGET_MS);
}

async function house(bench: WranglerDev): Promise<void> {
  print("cron: overdue tasks", await ask(bench, { kind: "overdue", calls: 20 }));
  print("cron: expired rows", await ask(bench, { kind: "removeExpired", calls: 5 }));
  print("cron: hourly counts", await ask(bench, { kind: "rollUp", calls: 5 }));
}

async function writes(bench: WranglerDev): Promise<void> {
  const written = await ask(bench, { kind: "consume", batches: BATCHES, size: BATCH });
  print(`consumer: a batch of ${BATCH} rows`, written);
  const perS = (written.rows * 1000) / written.ms.reduce((sum, ms) => sum + ms, 0);
  console.log(`consumer: ${perS.toFixed(0)} rows/s (target ${TARGET_ROWS_PER_S})`);
}

async function list(
  bench: WranglerDev,
  what: string,
  filtersOf: () => Partial<Filters>,
  afterOf: () => object | null = () => null,
): Promise<void> {
  const pages = Array.from({ length: CALLS }, () => ({
    filters: { ...NONE, ...filtersOf() },
    after: afterOf(),
    limit: 50,
  }));
  print(what, await ask(bench, { kind: "list", pages }), TARGET_MS);
}

function account(): string {
  return `account-${whole(500)}`;
}

function host(): string {
  return `host-${whole(60)}.example.com`;
}

/** A place somewhere in the older half. */
function deep() {
  return { createdAt: now - Math.floor(KEPT_MS * (0.5 + random() / 2)), id: "8" };
}

function whole(below: number): number {
  return Math.floor(random() * below);
}

async function ask(bench: WranglerDev, order: object): Promise<Done> {
  const body = JSON.stringify({ order, seed: SEED, now });
  const response = await fetch(bench.url, { method: "POST", body });
  const text = await response.text();
  if (!response.ok) throw new Error(`${response.status} ${text}`);
  return Done.parse(JSON.parse(text));
}

function print(what: string, { ms, rows }: Done, target?: number): void {
  const sorted = ms.toSorted((a, b) => a - b);
  const at = (q: number) => sorted[Math.ceil(q * sorted.length) - 1] ?? 0;
  const [p50, p99] = [at(0.5), at(0.99)].map((value) => value.toFixed(1).padStart(8));
  const mark = target === undefined || at(0.99) < target ? "" : `  misses ${target} ms`;
  const each = `${(rows / ms.length).toFixed(1)} rows`.padStart(14);
  console.log(`${what.padEnd(40)} p50 ${p50}  p99 ${p99}${each}${mark}`);
}

/** The worker of the bench with a database, and nothing else. */
async function config(): Promise<string> {
  const path = join(home, "wrangler.toml");
  const main = join(import.meta.dirname, "index-worker.ts");
  await writeFile(
    path,
    `name = "index-bench"
main = ${JSON.stringify(main)}
compatibility_date = "2026-10-20"
[[d1_databases]]
binding = "INDEX_DB"
database_name = "index-bench"
`,
  );
  return path;
}

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Agent, request } from "undici";
import * as z from "zod";
import { WranglerDev } from "../test/process/harness/wrangler-dev.ts";
import { seeded } from "../test/simulation/random.ts";
import { quantile } from "./figures.ts";
import { compareLatencies } from "./index-latency.ts";
import { withHeap } from "./profile/inspector.ts";

// Measures the queries of an index with a million rows, the throughput of its consumer, and what the index
// costs the tasks, and counts busy hours: `node bench/index.ts`, about 10 minutes. `BENCH_ROWS` sets the number of
// rows (0 leaves the queries out), `BENCH_RATES` the tasks per second of the counted hours, e.g. "50 200" ("0"
// leaves them out), `BENCH_ROUNDS` the rounds in which tasks are compared with and without an index (0 leaves them
// out), `BENCH_SEED` the contents.

const ROWS = Number(process.env["BENCH_ROWS"] ?? 1_000_000);
const SEED = Number(process.env["BENCH_SEED"] ?? 1);
const CALLS = 300;
const FILL_AT_ONCE = 50_000;
/** Tasks per second of the hours that are counted. */
const RATES = (process.env["BENCH_RATES"] ?? "50 200 1000").split(" ").map(Number);
const ROUNDS = Number(process.env["BENCH_ROUNDS"] ?? 6);
const MAX_HEAP_MB = 16;
const TARGET_MS = 50;
const TARGET_ROWS_PER_S = 1_000;
const BATCHES = 200;
const BATCH = 100;
const DAY_MS = 86_400_000;
const KEPT_MS = 28 * DAY_MS;
/** Dispatcher without time limits: counting a busy hour takes longer than the five minutes that are the default. */
const PATIENT = new Agent({ headersTimeout: 0, bodyTimeout: 0 });

const Count = z.object({
  left: z.int(),
  queries: z.int(),
  rowsRead: z.int(),
  rowsWritten: z.int(),
  mostRead: z.int(),
  longestMs: z.number(),
});
type Count = z.infer<typeof Count>;
const Done = z.object({ ms: z.array(z.number()), rows: z.int(), count: z.optional(Count) });
type Done = z.infer<typeof Done>;
/** Filters of the measured lists. The Worker adds all others, unset. */
interface ListFilters {
  readonly status?: string;
  readonly callback?: string;
  readonly model?: string;
  readonly account?: string;
  readonly host?: string;
  readonly since?: number;
}

const random = seeded(SEED);
const now = Date.now();
const home = await mkdtemp(join(tmpdir(), "task-relay-bench-"));
try {
  if (ROWS > 0) await measureIndex();
  for (const tasksPerS of RATES.filter((rate) => rate > 0)) await measureBusyHour(tasksPerS);
  if (ROUNDS > 0) await compareLatencies(ROUNDS);
} finally {
  await rm(home, { recursive: true, force: true });
}

async function measureIndex(): Promise<void> {
  await using bench = await WranglerDev.start({ vars: {}, config: await writeConfig() });
  const startedAt = performance.now();
  await fill(bench, "fill", ROWS);
  await ask(bench, { kind: "countAll", calls: 1 });
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(0);
  console.log(`${ROWS} rows, filled in ${seconds} s (seed ${SEED}); ${CALLS} calls each, in ms`);
  await measureReads(bench);
  await measureCron(bench);
  await measureWrites(bench);
}

/**
 * Measures how the cron trigger counts one hour at a rate, in a database without other rows: the time, the rows
 * that D1 reads, the runs that the count takes, and the largest heap of the Worker.
 */
async function measureBusyHour(tasksPerS: number): Promise<void> {
  await using bench = await WranglerDev.start({ vars: {}, config: await writeConfig() });
  const rows = tasksPerS * 3_600;
  await fill(bench, "fillHour", rows);
  const runs: Done[] = [];
  const count = async () => {
    const run = await ask(bench, { kind: "countHour", maxQueries: 1_000 });
    runs.push(run);
    if (run.count?.left === 1) await count();
  };
  const { heapBytes } = await withHeap(bench.inspectorPort, count);
  const counts = runs.flatMap((run) => run.count ?? []);
  const ms = runs.reduce((sum, run) => sum + (run.ms[0] ?? 0), 0);
  const total = (of: (count: Count) => number) => counts.reduce((sum, each) => sum + of(each), 0);
  const most = (of: (count: Count) => number) => Math.max(...counts.map(of));
  const heapMb = heapBytes / 1_000_000;
  console.log(
    `cron: an hour at ${tasksPerS}/s, ${rows} rows: ${(ms / 1000).toFixed(1)} s in ${runs.length} run(s), ` +
      `${((ms * 1000) / rows).toFixed(1)} µs per row, longest transaction ${most((c) => c.longestMs).toFixed(0)} ms; ` +
      `${total((c) => c.rowsRead)} rows read, at most ${most((c) => c.mostRead)} by one statement; ` +
      `${total((c) => c.rowsWritten)} written; ${total((c) => c.queries)} queries; ` +
      `heap ${heapMb.toFixed(1)} MB${heapMb > MAX_HEAP_MB ? `  misses ${MAX_HEAP_MB} MB` : ""}`,
  );
}

async function fill(bench: WranglerDev, kind: "fill" | "fillHour", rows: number): Promise<void> {
  for (let from = 0; from < rows; from += FILL_AT_ONCE) {
    const to = Math.min(from + FILL_AT_ONCE, rows);
    await ask(bench, { kind, from, to, rows });
  }
}

async function measureReads(bench: WranglerDev): Promise<void> {
  await measureList(bench, "no filter", () => ({}));
  await measureList(bench, "status=failed", () => ({ status: "failed" }));
  await measureList(bench, "status=processing", () => ({ status: "processing" }));
  await measureList(bench, "callback=failed", () => ({ callback: "failed" }));
  await measureList(bench, "host, callback=failed", () => ({ host: host(), callback: "failed" }));
  await measureList(bench, "host, callback=failed, since", () => {
    return { host: host(), callback: "failed", since: now - DAY_MS };
  });
  await measureList(bench, "account", () => ({ account: account() }));
  await measureList(bench, "the biggest account, status=failed", () => {
    return { account: "account-big", status: "failed" };
  });
  await measureList(bench, "model that does not exist", () => ({ model: "none" }));
  await measureList(bench, "the biggest account, no such model", () => {
    return { account: "account-big", model: "none" };
  });
  await measureList(bench, "deep cursor", () => ({}), deepPosition);
  await measureList(bench, "deep cursor, no such model", () => ({ model: "none" }), deepPosition);
  const day = await ask(bench, { kind: "statistics", sinceMs: 25 * 3_600_000, calls: CALLS });
  print("statistics of a day", day, TARGET_MS);
  const all = await ask(bench, { kind: "statistics", sinceMs: 2 * KEPT_MS, calls: 20 });
  print("statistics of all 28 days", all, TARGET_MS);
}

async function measureCron(bench: WranglerDev): Promise<void> {
  print("cron: overdue tasks", await ask(bench, { kind: "overdue", calls: 20 }));
  print("cron: expired rows", await ask(bench, { kind: "removeExpired", calls: 5 }));
  print("cron: hourly counts", await ask(bench, { kind: "countHours", calls: 5 }));
}

async function measureWrites(bench: WranglerDev): Promise<void> {
  const written = await ask(bench, { kind: "consume", batches: BATCHES, size: BATCH });
  print(`consumer: a batch of ${BATCH} rows`, written);
  const perS = (written.rows * 1000) / written.ms.reduce((sum, ms) => sum + ms, 0);
  console.log(`consumer: ${perS.toFixed(0)} rows/s (target ${TARGET_ROWS_PER_S})`);
}

async function measureList(
  bench: WranglerDev,
  name: string,
  filtersOf: () => ListFilters,
  afterOf: () => object | null = () => null,
): Promise<void> {
  const pages = Array.from({ length: CALLS }, () => ({
    filters: filtersOf(),
    after: afterOf(),
    limit: 50,
  }));
  print(name, await ask(bench, { kind: "list", pages }), TARGET_MS);
}

function account(): string {
  return `account-${whole(500)}`;
}

function host(): string {
  return `host-${whole(60)}.example.com`;
}

/** Returns a random position in the older half of the list. */
function deepPosition() {
  return { createdAt: now - Math.floor(KEPT_MS * (0.5 + random() / 2)), id: "8" };
}

function whole(below: number): number {
  return Math.floor(random() * below);
}

async function ask(bench: WranglerDev, order: object): Promise<Done> {
  const body = JSON.stringify({ order, seed: SEED, now });
  const { statusCode, body: answer } = await request(bench.url, {
    method: "POST",
    body,
    dispatcher: PATIENT,
  });
  const text = await answer.text();
  if (statusCode !== 200) throw new Error(`${statusCode} ${text}`);
  return Done.parse(JSON.parse(text));
}

function print(name: string, { ms, rows }: Done, target?: number): void {
  const [p50, p99] = [0.5, 0.99].map((q) => quantile(ms, q).toFixed(1).padStart(8));
  const mark = target === undefined || quantile(ms, 0.99) < target ? "" : `  misses ${target} ms`;
  const each = `${(rows / ms.length).toFixed(1)} rows`.padStart(14);
  console.log(`${name.padEnd(40)} p50 ${p50}  p99 ${p99}${each}${mark}`);
}

/** Writes a configuration of the benchmark's worker with a database. @returns its path. */
async function writeConfig(): Promise<string> {
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

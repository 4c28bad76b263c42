import { tmpdir } from "node:os";
import { join } from "node:path";
import * as z from "zod";
import { COMPACT_EVERY_MS } from "../src/core/ledger.ts";
import { refundableMs } from "../src/core/policy.ts";
import { DAY_MS } from "../src/core/time.ts";
import { objectFiles, readCopy } from "../test/process/harness/stored-record.ts";
import { Workerd } from "../test/process/harness/workerd.ts";
import { FASTEST_DIRECTORY, HAS_TMPFS, quantile } from "./figures.ts";

// Measures the throughput of one account's ledger and the growth of its storage: `node bench/ledger.ts`,
// about 20 s.

const TARGET_PER_S = 300;
const ROUNDS = 5;
const ROUND_MS = 600;
const CONCURRENCIES = [1, 8, 64];

const ENTRIES = 20_000;
const TASKS_PER_MONTH = 1_000_000;
const DAYS_PER_MONTH = 365.25 / 12;
/**
 * Largest age of a ledger entry in days: as long as its charge can be refunded, with the default
 * `RETENTION_DAYS`, and until the alarm of the account comes next.
 */
const MAX_DAYS_KEPT = (refundableMs(28 * DAY_MS) + COMPACT_EVERY_MS) / DAY_MS;
const OBJECT_LIMIT_BYTES = 10e9;
/**
 * Numbers of ledger entries per task, which are a charge and, for a failed task, a refund: no task fails,
 * 10 % fail, all fail.
 */
const ENTRIES_PER_TASK = [1, 1.1, 2];

const Done = z.object({ pairs: z.int() });
const Pages = z.object({ page_count: z.int() });
const PageSize = z.object({ page_size: z.int() });

await rates("storage on disk", tmpdir(), CONCURRENCIES);
if (HAS_TMPFS) await rates("storage on tmpfs", FASTEST_DIRECTORY, CONCURRENCIES.slice(-1));
await growth(FASTEST_DIRECTORY);

async function rates(title: string, parent: string, concurrencies: readonly number[]) {
  await using relay = await start(parent);
  console.log(`${title} (${parent}): charge+refund pairs/s of one account, ${ROUNDS} rounds`);
  for (const concurrency of concurrencies) {
    await ask(relay, { concurrency, ms: ROUND_MS });
    const rounds: number[] = [];
    for (let i = 0; i < ROUNDS; i++) {
      const startedAt = performance.now();
      const pairs = await ask(relay, { concurrency, ms: ROUND_MS });
      rounds.push((pairs * 1000) / (performance.now() - startedAt));
    }
    const [min, median, max] = [0, 0.5, 1].map((q) => quantile(rounds, q).toFixed(0).padStart(5));
    const at = `${String(concurrency).padStart(4)} at a time`;
    console.log(`${at}: min ${min}  median ${median}  max ${max}  (target ${TARGET_PER_S})`);
  }
}

async function growth(parent: string): Promise<void> {
  await using relay = await start(parent);
  await ask(relay, { concurrency: 0 });
  const before = bytesOf(relay);
  await ask(relay, { concurrency: 64, pairs: ENTRIES / 2 });
  const perEntry = (bytesOf(relay) - before) / ENTRIES;
  console.log(`${perEntry.toFixed(1)} bytes per entry, over ${ENTRIES} entries`);
  for (const entriesPerTask of ENTRIES_PER_TASK) {
    const perMonth = TASKS_PER_MONTH * entriesPerTask * perEntry;
    const years = OBJECT_LIMIT_BYTES / perMonth / 12;
    const maxBytes = (perMonth * MAX_DAYS_KEPT) / DAYS_PER_MONTH;
    const verdict = maxBytes < OBJECT_LIMIT_BYTES ? "never reaches" : "reaches";
    console.log(
      `${TASKS_PER_MONTH} tasks a month, ${entriesPerTask} entries each: ` +
        `10 GB after ${years.toFixed(1)} years without compaction; with it the ledger stays below ` +
        `${(maxBytes / 1e9).toFixed(1)} GB and ${verdict} the limit`,
    );
  }
}

function start(parent: string): Promise<Workerd> {
  const entry = join(import.meta.dirname, "ledger-worker.ts");
  return Workerd.start({ vars: {}, entry, parent, hasIndex: false });
}

/** Asks the worker to charge and refund. @returns the number of pairs done. */
async function ask(relay: Workerd, query: Readonly<Record<string, number>>): Promise<number> {
  const texts = Object.entries(query).map(([name, value]) => [name, String(value)]);
  const parameters = new URLSearchParams({ account: "bench", ...Object.fromEntries(texts) });
  const response = await fetch(`${relay.url}/?${parameters.toString()}`);
  const text = await response.text();
  if (!response.ok) throw new Error(`${text}\n${relay.output}`);
  return Done.parse(JSON.parse(text)).pairs;
}

function bytesOf(relay: Workerd): number {
  const [file = ""] = objectFiles(join(relay.storage, "accounts"));
  const bytes = readCopy(file, (database) => {
    const { page_count } = Pages.parse(database.prepare("PRAGMA page_count").get());
    return page_count * PageSize.parse(database.prepare("PRAGMA page_size").get()).page_size;
  });
  if (bytes === null) throw new Error("the account's file cannot be read");
  return bytes;
}

import { isWanted } from "./config/operator-events.ts";
import type { Runtime } from "./config/runtime.ts";
import { MINUTE_MS, toSeconds } from "./core/time.ts";
import type { Env } from "./env.ts";
import { count } from "./index-db/counters.ts";
import { sizeBytes } from "./index-db/database.ts";
import { runChecks } from "./index-db/expiry-checks.ts";
import { lastEndAt } from "./index-db/last-end.ts";
import { ALMOST_FULL_BYTES, MAX_INDEX_BYTES } from "./index-db/limits.ts";
import { rollUp } from "./index-db/rollups.ts";
import { type Shards, shardsOf } from "./index-db/shards.ts";
import { removeExpired } from "./index-db/sweep.ts";
import { errorText, log } from "./log.ts";
import type { OperatorEvent } from "./outbound/operator-body.ts";
import type { IndexAlert } from "./objects/deployment-object.ts";
import { deploymentObject } from "./objects/object-names.ts";
import { comparedRuntimeOf } from "./objects/placed-runtime.ts";
import { sendOperatorEvent } from "./outbound/webhooks.ts";
import { ExpiryCheck } from "./objects/task/expiry-check.ts";
import { TimeBudget } from "./time-budget.ts";
import { wakeOverdue } from "./wake-overdue.ts";

/** Time in milliseconds from one cron trigger to the next (wrangler.toml). */
const PERIOD_MS = 10 * MINUTE_MS;

/** Values that every step of the work in one cron trigger needs. */
interface Job {
  readonly env: Env;
  readonly shards: Shards;
  readonly runtime: Runtime;
  /** Time of the present cron trigger, in Unix milliseconds. */
  readonly now: number;
  /**
   * Check that the Durable Objects of tasks have erased them; one for all databases, because its limit on
   * calls holds for the whole run.
   */
  readonly expiryCheck: ExpiryCheck;
}

type Counts = Readonly<Record<string, number>>;

/**
 * A step of the work that the cron trigger does on the index, e.g. the deletion of expired rows; it is done
 * in one database after another.
 */
interface Step {
  readonly name: string;
  /** Longest time of the step in all databases together, in milliseconds. */
  readonly maxMs: number;
  /**
   * Largest number of rounds in all databases together. A round is a group of queries that are made together,
   * e.g. the deletion of one page of rows.
   */
  readonly maxRounds: number;
  readonly run: (db: D1Database, job: Job, budget: TimeBudget) => Promise<Counts>;
}

/**
 * Steps of the housekeeping, in their order. They end before the next trigger, ten minutes later. Together
 * they make fewer than the 1,000 queries that D1 allows one invocation: a round that counts hours makes 11
 * queries, one that deletes rows makes 4, one that performs a planned check makes 3. Deleting 5,000 rows in
 * one round takes about 22 ms of CPU time.
 */
export const HOUSEKEEPING: readonly Step[] = [
  { name: "size", maxMs: MINUTE_MS, maxRounds: Infinity, run: measureSize },
  { name: "rollups", maxMs: 2 * MINUTE_MS, maxRounds: 30, run: recount },
  { name: "expired", maxMs: 3 * MINUTE_MS, maxRounds: 60, run: removeExpiredRows },
  { name: "expiry_checks", maxMs: MINUTE_MS, maxRounds: 60, run: checkExpiries },
];

/**
 * Handles the cron trigger. First it wakes the tasks that should have changed by now; the limits on time and
 * queries, which a later step may reach, thus cannot prevent it. Then it does each step of the housekeeping
 * in all databases of the index: measures the size, counts again the tasks of each hour whose rows have
 * changed, deletes expired rows, and checks that their tasks are erased. The databases share the limits of a
 * step, so they take turns at being first. A step that fails does not stop the others and runs again at the
 * next trigger. Without an index nothing is done.
 * @param now time of the trigger, in Unix milliseconds.
 */
export async function runScheduled(
  env: Env,
  now: number,
  housekeeping: readonly Step[] = HOUSEKEEPING,
): Promise<void> {
  const result = await comparedRuntimeOf(env);
  if (!result.ok) return;
  const runtime = result.value;
  const shards = shardsOf(env, runtime.config);
  if (shards === null) return;
  const job = { env, shards, runtime, now, expiryCheck: new ExpiryCheck(env) };
  // During a pause callbacks wait on purpose, so overdue tasks are no fault.
  if (!runtime.config.paused) await runStep("overdue", () => repair(job));
  const { databases } = shards;
  const first = Math.floor(now / PERIOD_MS) % databases.length;
  for (const { name, maxMs, maxRounds, run } of housekeeping) {
    const budget = new TimeBudget(maxMs, maxRounds);
    for (const db of [...databases.slice(first), ...databases.slice(0, first)]) {
      await runStep(name, () => run(db, job, budget));
    }
  }
  const { silenceMs, paused } = runtime.config;
  // During a pause no job is polled, so that fewer tasks end.
  if (silenceMs !== null && !paused) await runStep("silence", () => reportSilence(silenceMs, job));
}

/**
 * Runs one step of the cron trigger, e.g. the deletion of expired rows, and logs the numbers that it returns,
 * or its failure.
 */
async function runStep(name: string, step: () => Promise<Counts>): Promise<void> {
  try {
    log({ event: `index.${name}`, ...(await step()) });
  } catch (error) {
    log({ event: "index.unreachable", part: name, error: errorText(error) }, "warn");
  }
}

async function removeExpiredRows(db: D1Database, { runtime, now }: Job, budget: TimeBudget) {
  return { removed: await removeExpired(db, runtime.config, now, budget) };
}

/** Checks that the Durable Objects of tasks whose rows were deleted from the index have erased the tasks. */
async function checkExpiries(db: D1Database, { now, expiryCheck }: Job, budget: TimeBudget) {
  const before = expiryCheck.counts;
  await runChecks(db, now, budget, (ids) => expiryCheck.check(ids));
  const asked = expiryCheck.counts.asked - before.asked;
  const lost = expiryCheck.counts.lost - before.lost;
  await count(db, "expiry_lost", lost, now);
  return { asked, lost };
}

async function recount(db: D1Database, { runtime, now }: Job, budget: TimeBudget) {
  return { hours: await rollUp(db, runtime.config.indexRetentionMs, now, budget) };
}

/** Wakes tasks that have not changed by their due time, and alerts the operator if there are any. */
async function repair(job: Job) {
  const found = await wakeOverdue(job.env, job.shards, job.now);
  const event = { type: "index.lagging", overdue: found.overdue } as const;
  if (found.overdue > 0) await alertOperator(event, "lagging", job);
  return found;
}

/** Measures the size of one database of the index, and alerts the operator if it is almost full. */
async function measureSize(db: D1Database, job: Job) {
  const bytes = await sizeBytes(db);
  const event = { type: "index.full", bytes, max_bytes: MAX_INDEX_BYTES } as const;
  if (bytes >= ALMOST_FULL_BYTES) await alertOperator(event, "full", job);
  return { bytes };
}

/** Alerts the operator if no task has ended for `silenceMs`. */
async function reportSilence(silenceMs: number, job: Job) {
  const at = await lastEndAt(job.shards.databases);
  const silentMs = at === null ? 0 : job.now - at;
  const minutes = Math.floor(silentMs / MINUTE_MS);
  const event = { type: "events.silent", since: toSeconds(job.now - silentMs), minutes } as const;
  if (silentMs >= silenceMs) await alertOperator(event, "silent", job);
  return { minutes };
}

/**
 * Alerts the operator that the index is almost full, that tasks are overdue or that none ends, at most once an
 * hour for each of these.
 */
async function alertOperator(event: OperatorEvent, kind: IndexAlert, { env, runtime, now }: Job) {
  if (!isWanted(runtime.config, event.type)) return;
  if (!(await deploymentObject(env).claimAlert(kind))) return;
  await sendOperatorEvent(event, `${event.type}_${crypto.randomUUID()}`, now, runtime);
}

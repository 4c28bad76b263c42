import { indexObject } from "./account/object-names.ts";
import type { AlertKind } from "./account/failure-tracker.ts";
import { placedRuntimeOf } from "./account/placed-runtime.ts";
import type { Runtime } from "./config/runtime.ts";
import { MINUTE_MS } from "./core/time.ts";
import type { Env } from "./env.ts";
import { count } from "./index-db/counters.ts";
import { sizeBytes } from "./index-db/database.ts";
import { runChecks } from "./index-db/expiry-checks.ts";
import { ALMOST_FULL_BYTES, MAX_INDEX_BYTES } from "./index-db/limits.ts";
import { rollUp } from "./index-db/rollups.ts";
import { type Shards, shardsOf } from "./index-db/shards.ts";
import { removeExpired } from "./index-db/sweep.ts";
import { errorText, log } from "./log.ts";
import { notifyOperator, type OperatorEvent } from "./outbound/webhooks.ts";
import { ExpiryCheck } from "./task/expiry-check.ts";
import { TimeBudget } from "./time-budget.ts";
import { wakeOverdue } from "./wake-overdue.ts";

/**
 * Longest time in milliseconds for the deletion of expired rows, in all databases of the index together. With
 * it and the limits of the other steps, a run of the cron trigger ends before the next one, ten minutes
 * later.
 */
const SWEEP_BUDGET_MS = 3 * MINUTE_MS;
const CHECK_BUDGET_MS = MINUTE_MS;
const ROLLUPS_BUDGET_MS = 2 * MINUTE_MS;

/** Input of one step that the cron trigger runs, e.g. the deletion of expired rows. */
interface Job {
  readonly env: Env;
  readonly shards: Shards;
  readonly runtime: Runtime;
  /** Time of the present cron trigger, in Unix milliseconds. */
  readonly now: number;
}

/**
 * Handles the cron trigger: deletes expired rows of the index, checks that their tasks are erased, counts
 * again the tasks of each hour whose rows have changed, measures the size of the index, and wakes tasks that
 * should have changed by now. A step that fails does not stop the others and runs again at the next trigger.
 * Without an index nothing is done.
 * @param now time of the trigger, in Unix milliseconds.
 */
export async function runScheduled(env: Env, now: number): Promise<void> {
  const result = await placedRuntimeOf(env);
  if (!result.ok) return;
  const runtime = result.value;
  const shards = shardsOf(env, runtime.config);
  if (shards === null) return;
  const job = { env, shards, runtime, now };
  for (const db of shards.databases) {
    await runStep("expired", () => removeExpiredRows(db, job));
    await runStep("expiry_checks", () => checkExpiries(db, job));
    await runStep("rollups", () => recount(db, job));
    await runStep("size", () => measureSize(db, job));
  }
  // During a pause callbacks wait on purpose, so overdue tasks are no fault.
  if (!runtime.config.paused) await runStep("overdue", () => repair(job));
}

/**
 * Runs one step of the cron trigger, e.g. the deletion of expired rows, and logs the numbers that it returns,
 * or its failure.
 */
async function runStep(name: string, step: () => Promise<Record<string, number>>): Promise<void> {
  try {
    log({ event: `index.${name}`, ...(await step()) });
  } catch (error) {
    log({ event: "index.unreachable", part: name, error: errorText(error) }, "warn");
  }
}

async function removeExpiredRows(db: D1Database, { shards, runtime, now }: Job) {
  const budget = new TimeBudget(SWEEP_BUDGET_MS / shards.databases.length);
  return { removed: await removeExpired(db, runtime.config, now, budget) };
}

/** Checks that the objects of tasks whose rows were deleted from the index have erased the tasks. */
async function checkExpiries(db: D1Database, { env, shards, now }: Job) {
  const expiryCheck = new ExpiryCheck(env);
  const budget = new TimeBudget(CHECK_BUDGET_MS / shards.databases.length);
  await runChecks(db, now, budget, (ids) => expiryCheck.check(ids));
  const { asked, lost } = expiryCheck.counts;
  await count(db, "expiry_lost", lost, now);
  return { asked, lost };
}

async function recount(db: D1Database, { shards, runtime, now }: Job) {
  const budget = new TimeBudget(ROLLUPS_BUDGET_MS / shards.databases.length);
  return { hours: await rollUp(db, runtime.config.indexRetentionMs, now, budget) };
}

/** Wakes tasks that have not changed by their due time, and alerts the operator if there are any. */
async function repair(job: Job) {
  const found = await wakeOverdue(job.env, job.shards, job.now);
  const event = { type: "index.lagging", overdue: found.overdue } as const;
  if (found.overdue > 0) await alertOperator(event, "default", job);
  return found;
}

/** Measures the size of one database of the index, and alerts the operator if it is almost full. */
async function measureSize(db: D1Database, job: Job) {
  const bytes = await sizeBytes(db);
  const event = { type: "index.full", bytes, max_bytes: MAX_INDEX_BYTES } as const;
  if (bytes >= ALMOST_FULL_BYTES) await alertOperator(event, "full", job);
  return { bytes };
}

/**
 * Alerts the operator that the index is almost full or that tasks are overdue, at most once an hour for each
 * of the two.
 */
async function alertOperator(event: OperatorEvent, kind: AlertKind, { env, runtime, now }: Job) {
  if (runtime.config.operatorCallbackUrl === null) return;
  if (!(await indexObject(env).claimAlertSlot(kind))) return;
  await notifyOperator(event, `${event.type}_${crypto.randomUUID()}`, now, runtime);
}

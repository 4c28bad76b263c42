import type { Config } from "../config/config.ts";
import { isWanted } from "../config/operator-events.ts";
import type { Runtime } from "../config/runtime.ts";
import { MINUTE_MS, SECOND_MS, toSeconds } from "../core/time.ts";
import type { Env } from "../env.ts";
import { ADD_TO_HOUR_QUERIES, addToHour, countHours } from "../index-db/count-hours.ts";
import { sizeBytes } from "../index-db/database.ts";
import type { IndexDatabase } from "../index-db/index-database.ts";
import { runChecks } from "../index-db/expiry-checks.ts";
import { lastEnd } from "../index-db/last-end.ts";
import { ALMOST_FULL_SHARE, maxIndexBytes } from "../index-db/limits.ts";
import type { Shards } from "../index-db/shards.ts";
import { removeExpired } from "../index-db/sweep.ts";
import { errorText, log } from "../lib/log.ts";
import type { OperatorEvent } from "../outbound/operator-body.ts";
import type { IndexAlert } from "../objects/deployment-object.ts";
import { deploymentObject } from "../objects/object-names.ts";
import { comparedRuntimeOf } from "../objects/placed-runtime.ts";
import { sendOperatorEvent } from "../outbound/webhooks.ts";
import { ExpiryCheck } from "../objects/task/expiry-check.ts";
import { shardsOf } from "../objects/index/index-shards.ts";
import { TimeBudget } from "../lib/time-budget.ts";
import { withinTime } from "../lib/timeout.ts";
import { STEP_BY_STEP } from "./cron-expression.ts";
import { wakeOverdue } from "./wake-overdue.ts";

/** Time in milliseconds from one cron trigger to the next (wrangler.toml). */
export const PERIOD_MS = 10 * MINUTE_MS;
/** Time in milliseconds from one run to the next where each does one step. */
const STEP_PERIOD_MS = 2 * MINUTE_MS;
/**
 * Time in milliseconds for which a step of the cron trigger still waits for D1 after the step's own time is over. D1
 * ends a query after 30 seconds.
 */
export const PATIENCE_MS = 30 * SECOND_MS;
/**
 * Numbers of D1 queries that Cloudflare allows in one invocation, by plan
 * (https://developers.cloudflare.com/d1/platform/limits/).
 */
const MAX_QUERIES = { paid: 1_000, free: 50 } as const;

/** Values that every step of one run of the cron trigger needs. */
interface Job {
  readonly env: Env;
  readonly shards: Shards;
  /** The databases of the index. Each run begins with another one. */
  readonly databases: readonly IndexDatabase[];
  readonly runtime: Runtime;
  /** Time of the present cron trigger, in Unix milliseconds. */
  readonly now: number;
  /**
   * Check that the Durable Objects of tasks have erased expired tasks. All databases use the same check, because its
   * limit on calls applies to the whole run.
   */
  readonly expiryCheck: ExpiryCheck;
}

type Counts = Readonly<Record<string, number>>;

/**
 * Numbers that a step reports for a database that it has skipped, because the time or the queries of the run were not
 * enough. The next run begins with another database.
 */
const SKIPPED = { skipped: 1 } as const;

/** A step of the work of the cron trigger, e.g. the deletion of expired rows. */
export interface Step {
  readonly name: string;
  /** Longest time of the step in all databases together, in milliseconds. */
  readonly maxMs: number;
  /** Largest number of D1 queries of the step, in all databases together, for each plan of Cloudflare. */
  readonly maxQueries: Readonly<Record<Config["plan"], number>>;
  /** Work that the step does once, and not for each database. It returns undefined when this work is switched off. */
  readonly once?: (job: Job, budget: TimeBudget) => Promise<Counts | undefined>;
  /** Work that the step does for each database, one after the other. */
  readonly each?: (db: IndexDatabase, job: Job, budget: TimeBudget) => Promise<Counts>;
  /** Event that is sent to the operator when the step fails or gets no answer. Absent when no event is sent. */
  readonly failure?: OperatorEvent & { readonly type: "index.lagging" };
}

const COUNT_FAILED = { type: "index.lagging", overdue: 0, cause: "count_failed" } as const;

/**
 * Steps of the cron trigger in their order. Steps that repair tasks and limit the size of the index come first. The
 * counts come last, so that a count that fails or takes long delays no other step. All steps end before the next
 * trigger, ten minutes later, even when each waits for D1 as long as it may.
 */
export const STEPS: readonly Step[] = [
  { name: "overdue", maxMs: MINUTE_MS, maxQueries: { paid: 400, free: 8 }, once: repair },
  { name: "size", maxMs: 15 * SECOND_MS, maxQueries: { paid: 100, free: 3 }, each: measureSize },
  { name: "expired", maxMs: 3 * MINUTE_MS, maxQueries: { paid: 290, free: 9 }, each: expire },
  {
    name: "expiry_checks",
    maxMs: 20 * SECOND_MS,
    maxQueries: { paid: 190, free: 6 },
    each: checkExpiries,
  },
  {
    name: "silence",
    maxMs: 15 * SECOND_MS,
    maxQueries: { paid: 210, free: 4 },
    once: reportSilence,
  },
  {
    name: "counts",
    maxMs: 2 * MINUTE_MS,
    maxQueries: { paid: Infinity, free: Infinity },
    each: recount,
    failure: COUNT_FAILED,
  },
];

/**
 * Returns the steps of a run: all of them or, with the cron expression `STEP_BY_STEP`, the one whose turn it is.
 * @param now time of the trigger, in Unix milliseconds.
 */
export function stepsOf(cron: string, now: number): readonly Step[] {
  if (cron !== STEP_BY_STEP) return STEPS;
  const turn = Math.floor(now / STEP_PERIOD_MS) % STEPS.length;
  return STEPS.slice(turn, turn + 1);
}

/**
 * Handles the cron trigger. First it wakes the tasks that should have changed by now; because this comes first, the
 * limits on time and queries cannot prevent it. Then it measures the size of the databases of the index, deletes
 * expired rows, checks that their tasks are erased, looks whether tasks end, and counts again the tasks of each hour
 * whose rows have changed. The limits of a step and those of the run hold for all databases together, so the databases
 * take turns at being first. A step that fails or gets no answer does not stop the others, and runs again at the next
 * trigger. Without an index nothing is done.
 * @param now time of the trigger, in Unix milliseconds.
 * @param patienceMs time for which a step waits for D1 after its own time is over, in milliseconds.
 */
export async function runScheduled(
  env: Env,
  now: number,
  steps: readonly Step[] = STEPS,
  patienceMs = PATIENCE_MS,
): Promise<void> {
  const result = await comparedRuntimeOf(env);
  if (!result.ok) return;
  const runtime = result.value;
  const shards = shardsOf(env, runtime.config);
  if (shards === null) return;
  const first = Math.floor(now / PERIOD_MS) % shards.databases.length;
  const databases = [...shards.databases.slice(first), ...shards.databases.slice(0, first)];
  const job = { env, shards, databases, runtime, now, expiryCheck: new ExpiryCheck(env) };
  const { plan, isIndexInObject } = runtime.config;
  let left: number = MAX_QUERIES[plan];
  for (const step of steps) {
    // An object limits no queries.
    const maxQueries = isIndexInObject ? Infinity : Math.min(left, step.maxQueries[plan]);
    const budget = new TimeBudget(step.maxMs, maxQueries);
    const endsAt = Date.now() + step.maxMs + patienceMs;
    for (const work of worksOf(step, job, budget)) await runStep(step, work, job, endsAt);
    left -= budget.queries;
  }
}

/**
 * Returns the parts of a step, which are run and logged one after the other. A step has one part for all databases
 * together, or one part for each database.
 */
function worksOf(
  { once, each }: Step,
  job: Job,
  budget: TimeBudget,
): readonly (() => Promise<Counts | undefined>)[] {
  return [
    ...(once === undefined ? [] : [() => once(job, budget)]),
    ...(each === undefined ? [] : job.databases.map((db) => () => each(db, job, budget))),
  ];
}

/**
 * Runs one step of the cron trigger, e.g. the deletion of expired rows, and logs the numbers that it returns, or its
 * failure. When D1 gives no answer in time, this counts as a failure, and the step is not waited for any longer.
 * @param endsAt time until which the step is waited for, in Unix milliseconds.
 */
async function runStep(
  { name, failure }: Step,
  work: () => Promise<Counts | undefined>,
  job: Job,
  endsAt: number,
): Promise<void> {
  try {
    const waitMs = Math.max(0, endsAt - Date.now());
    const counts = await withinTime<Counts | null | undefined>(work, null, waitMs);
    if (counts === null) throw new Error("no answer from D1");
    if (counts !== undefined) log({ event: `index.${name}`, ...counts });
  } catch (error) {
    log({ event: "index.unreachable", part: name, error: errorText(error) }, "warn");
    if (failure !== undefined) await alertOperator(failure, "uncounted", job);
  }
}

async function expire(db: IndexDatabase, { runtime, now }: Job, budget: TimeBudget) {
  const removed = await removeExpired(db, runtime.config, now, budget);
  return removed === null ? SKIPPED : { removed };
}

/** Checks that the Durable Objects of tasks whose rows were deleted from the index have erased the tasks. */
async function checkExpiries(db: IndexDatabase, { now, expiryCheck }: Job, budget: TimeBudget) {
  const before = expiryCheck.counts;
  if (!budget.take(ADD_TO_HOUR_QUERIES)) return SKIPPED;
  const isBegun = await runChecks(db, now, budget, (ids) => expiryCheck.check(ids));
  if (!isBegun) return SKIPPED;
  const asked = expiryCheck.counts.asked - before.asked;
  const lost = expiryCheck.counts.lost - before.lost;
  await addToHour(db, "expiry_lost", lost, now);
  return { asked, lost };
}

/**
 * Counts the hours of one database again, and alerts the operator if the time or the queries were not enough for all of
 * them.
 */
async function recount(db: IndexDatabase, job: Job, budget: TimeBudget) {
  const counted = await countHours(db, job.runtime.config.indexRetentionMs, job.now, budget);
  const event = { type: "index.lagging", overdue: 0, cause: "count_slow" } as const;
  if (counted === null || counted.left > 0) await alertOperator(event, "uncounted", job);
  return counted === null ? SKIPPED : { hours: counted.hours, left: counted.left };
}

/** Wakes tasks that have not changed by their due time, and alerts the operator if there are any. */
async function repair(job: Job, budget: TimeBudget) {
  // During a pause callbacks wait on purpose, so overdue tasks are no fault.
  if (job.runtime.config.paused) return undefined;
  const found = await wakeOverdue(job, budget);
  const { overdue } = found;
  const event = { type: "index.lagging", overdue, cause: "tasks_overdue" } as const;
  if (found.overdue > 0) await alertOperator(event, "lagging", job);
  return found;
}

/** Measures the size of one database of the index, and alerts the operator if it is almost full. */
async function measureSize(db: IndexDatabase, job: Job, budget: TimeBudget) {
  if (!budget.take(1)) return SKIPPED;
  const bytes = await sizeBytes(db);
  const maxBytes = maxIndexBytes(job.runtime.config);
  const event = { type: "index.full", bytes, max_bytes: maxBytes } as const;
  if (bytes >= ALMOST_FULL_SHARE * maxBytes) await alertOperator(event, "full", job);
  return { bytes };
}

/**
 * Alerts the operator if no task has ended for `SILENCE_MINUTES`. No alert is sent if the budget was too small to ask
 * all databases.
 */
async function reportSilence(job: Job, budget: TimeBudget) {
  const { silenceMs, paused } = job.runtime.config;
  // During a pause no job is polled, so that fewer tasks end.
  if (silenceMs === null || paused) return undefined;
  const newestFirst = job.shards.newestFirst(job.now);
  const { at, until, skipped } = await lastEnd(newestFirst, job.now, silenceMs, budget);
  if (skipped > 0) return { skipped };
  if (at === null) return { minutes: 0 };
  const silentMs = Math.max(0, until - at);
  const minutes = Math.floor(silentMs / MINUTE_MS);
  const event = { type: "events.silent", since: toSeconds(at), minutes } as const;
  if (silentMs >= silenceMs) await alertOperator(event, "silent", job);
  return { minutes };
}

/** Alerts the operator of a fault that the cron trigger has found, at most once an hour for each kind of alert. */
async function alertOperator(event: OperatorEvent, kind: IndexAlert, { env, runtime, now }: Job) {
  if (!isWanted(runtime.config, event.type)) return;
  if (!(await deploymentObject(env).claimAlert(kind))) return;
  await sendOperatorEvent(event, `${event.type}_${crypto.randomUUID()}`, now, runtime);
}

import type { Config } from "./config/config.ts";
import type { Env } from "./env.ts";
import type { Position } from "./index-db/list.ts";
import { rollUp } from "./index-db/rollups.ts";
import { overdueTasks, removeExpired } from "./index-db/sweep.ts";
import { removeRow } from "./index-db/writer.ts";
import { errorText, log } from "./log.ts";
import { indexObject } from "./account/object-names.ts";
import { notifyOperator } from "./outbound/webhooks.ts";
import { runtimeOf, type Runtime } from "./config/runtime.ts";
import { DAY_MS, HOUR_MS } from "./core/time.ts";

const OVERDUE_MS = 600_000;
const WAKE_AT_ONCE = 500;

/**
 * The cron trigger: keeps the index in order. Each part stands for itself, and what fails is done the next
 * time. Without an index there is nothing to do.
 * @param now Unix milliseconds.
 */
export async function runScheduled(env: Env, now: number): Promise<void> {
  const { INDEX_DB: db } = env;
  const result = await runtimeOf(env);
  if (db === undefined || !result.ok) return;
  const runtime = result.value;
  await runStep("expired", async () => ({
    removed: await removeExpired(db, runtime.config.retentionMs, now),
  }));
  await runStep("rollups", async () => {
    await rollUp(db, reachOf(runtime.config), now);
    return {};
  });
  // A pause lets callbacks wait, and that is no trouble.
  if (!runtime.config.paused) {
    await runStep("overdue", async () => wakeOverdue(env, db, runtime, now));
  }
}

/** Two days, or until the last timeout has been called back; not beyond the retention. */
function reachOf({ taskDeadlineMs, retentionMs }: Config): number {
  return Math.min(retentionMs, Math.max(2 * DAY_MS, taskDeadlineMs * 1.25 + HOUR_MS));
}

async function runStep(name: string, work: () => Promise<Record<string, number>>): Promise<void> {
  try {
    log({ event: `index.${name}`, ...(await work()) });
  } catch (error) {
    log({ event: "index.unreachable", part: name, error: errorText(error) });
  }
}

/**
 * Tasks that should have changed ten minutes ago: their alarm was lost, or their row was. Each writes its
 * row anew and does what it owes; the row of one that is gone is taken away.
 */
async function wakeOverdue(env: Env, db: D1Database, runtime: Runtime, now: number) {
  const overdue = await overdueTasks(db, now - OVERDUE_MS, WAKE_AT_ONCE);
  const woken = await Promise.all(overdue.map((position) => wake(env, db, position)));
  if (overdue.length > 0) await tellOfLag(env, runtime, overdue.length, now);
  return { overdue: overdue.length, woken: woken.filter(Boolean).length };
}

async function wake(env: Env, db: D1Database, position: Position): Promise<boolean> {
  try {
    const createdAt = await env.TASKS.getByName(position.id).republish();
    // Gone, or another life of the same id.
    const isGone = createdAt !== position.createdAt;
    if (isGone) await removeRow(db, { ...position, version: Date.now() });
    return !isGone;
  } catch (error) {
    log({ event: "task.unreachable", task_id: position.id, error: errorText(error) });
    return false;
  }
}

async function tellOfLag(env: Env, runtime: Runtime, overdue: number, now: number): Promise<void> {
  if (runtime.config.operatorCallbackUrl === null) return;
  if (!(await indexObject(env.ACCOUNTS).claimAlertSlot())) return;
  const id = `index.lagging_${crypto.randomUUID()}`;
  await notifyOperator({ type: "index.lagging", overdue }, id, now, runtime);
}

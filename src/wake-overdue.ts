import pMap from "p-map";
import { MINUTE_MS } from "./core/time.ts";
import type { Env } from "./env.ts";
import type { Position } from "./index-db/list.ts";
import { overdueTasks } from "./index-db/sweep.ts";
import { removeRows } from "./index-db/writer.ts";
import { errorText, log } from "./log.ts";
import { taskObject } from "./task/task-stub.ts";
import { TimeBudget } from "./time-budget.ts";

const OVERDUE_MS = 10 * MINUTE_MS;
const MAX_WOKEN = 5_000;
const BUDGET_MS = MINUTE_MS;
const CONCURRENCY = 50;
/** Pause after each call, so that the due work of `MAX_WOKEN` tasks starts spread over the budget. */
const PAUSE_MS = (BUDGET_MS * CONCURRENCY) / MAX_WOKEN;
/** The limit of calls in one invocation of a Worker, which is 50 on the Free plan. */
const CALLS_SPENT = /too many (?:subrequests|api requests)/i;

/** The outcome of waking one task; `skipped` when no more calls can be made. */
type Outcome = "woken" | "gone" | "failed" | "skipped";

/**
 * Wakes tasks that should have changed ten minutes ago, because their alarm or their row was lost: up to
 * 5,000 or for a minute, 50 at once. Each task writes its row again and takes its due steps; the rows of
 * tasks that no longer exist are deleted together, because the platform limits the queries of an
 * invocation.
 * @param now time of the cron trigger, in Unix milliseconds.
 * @returns how many tasks were found and how many woken.
 */
export async function wakeOverdue(env: Env, db: D1Database, now: number) {
  const overdue = await overdueTasks(db, now - OVERDUE_MS, MAX_WOKEN);
  const budget = new TimeBudget(BUDGET_MS);
  let areCallsSpent = false;
  const wake = async (position: Position): Promise<Outcome> => {
    if (areCallsSpent || budget.isSpent()) return "skipped";
    try {
      const createdAt = await taskObject(env, position.id).republish(false);
      // Another creation time means that the task is gone and its id was used again.
      return createdAt === position.createdAt ? "woken" : "gone";
    } catch (error) {
      areCallsSpent ||= CALLS_SPENT.test(errorText(error));
      if (areCallsSpent) return "skipped";
      const line = { task_id: position.id, error: errorText(error) };
      log({ event: "task.unreachable", ...line }, "warn");
      return "failed";
    }
  };
  const wakeAndPause = async (position: Position): Promise<Outcome> => {
    const outcome = await wake(position);
    if (outcome !== "skipped" && overdue.length > CONCURRENCY) await scheduler.wait(PAUSE_MS);
    return outcome;
  };
  const outcomes = await pMap(overdue, wakeAndPause, { concurrency: CONCURRENCY });
  const version = Date.now();
  const gone = overdue.flatMap((task, index) =>
    outcomes[index] === "gone" ? { ...task, version } : [],
  );
  if (gone.length > 0) await removeRows(db, gone);
  return {
    overdue: overdue.length,
    woken: outcomes.filter((outcome) => outcome === "woken").length,
  };
}

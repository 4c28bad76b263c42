import type { Config } from "../../config/config.ts";
import { MINUTE_MS, SECOND_MS, toSeconds } from "../../core/time.ts";
import type { Env } from "../../env.ts";
import { countOpen, type OpenCount } from "../../index-db/open-count.ts";
import { type OpenPerConnection, openPerConnection } from "../../index-db/open-per-connection.ts";
import type { Shards } from "../../index-db/shards.ts";
import { shardsOf } from "../../objects/index/index-shards.ts";
import { EnvCache } from "../../lib/isolate-cache.ts";
import { NoBody, NoQuery, operation } from "../operation.ts";
import { queryIndex, requireIndex } from "./query-index.ts";

/**
 * Largest number of unsettled tasks (without a result, or with a callback or refund still under way) that are read in
 * order to count the open tasks (without a result) among them. D1 bills two rows for each.
 */
const MAX_TASKS = 2_000;
/**
 * Largest number up to which unsettled tasks (without a result, or with a callback or refund still under way) are
 * counted.
 */
const MAX_UNSETTLED = 500;
/**
 * Shortest time in milliseconds for which the numbers of open tasks are kept in memory. Numbers that have cost many
 * rows are kept longer, one minute for each 1,000 rows, because a page that stays open asks for them every minute.
 */
const LEAST_KEEP_MS = 10 * SECOND_MS;
const KEEP_MS_PER_ROW = MINUTE_MS / 1_000;

/**
 * Numbers of open tasks that were counted last. They are shared by all callers, because only operators may ask for
 * them.
 */
const recent = new EnvCache<Counted>(({ rowsRead }) =>
  Math.max(LEAST_KEEP_MS, rowsRead * KEEP_MS_PER_ROW),
);

/** Numbers of open tasks, and the time at which they were counted, in Unix milliseconds. */
interface Counted extends OpenPerConnection {
  readonly at: number;
}

/** Numbers of open tasks of each connection, with the time at which they were counted, in Unix seconds. */
export type OpenTasks = Awaited<ReturnType<typeof openTasksIn>>;

/**
 * Number of unsettled tasks (without a result, or with a callback or refund still under way), and how many of them are
 * overdue.
 */
export type Unsettled = Awaited<ReturnType<typeof readOpenTasks.perform>>["unsettled"];

/**
 * Counts the open tasks of each connection, all unsettled tasks, and the overdue ones among these. Only the console
 * uses this operation.
 */
export const readOpenTasks = operation(
  "readOpenTasks",
  { access: "inspect", query: NoQuery, body: NoBody },
  async ({ env, runtime }) => {
    const shards = requireIndex(env, runtime);
    const [open, unsettled] = await Promise.all([
      openTasksIn(shards, env),
      queryIndex(() => countUnsettled(shards, Date.now())),
    ]);
    const { tasks, isCapped, overdue } = unsettled;
    return { open, unsettled: { count: tasks, is_capped: isCapped, overdue } };
  },
);

/**
 * Returns how many tasks of each connection to a provider are open (have no result), and when they were counted.
 * @returns null when the relay has no index.
 */
export async function openTasks(env: Env, config: Config) {
  const shards = shardsOf(env, config);
  return shards === null ? null : await openTasksIn(shards, env);
}

async function openTasksIn(shards: Shards, env: Env) {
  const { at, isCapped, connections } = await recent.get(env, async (now) => {
    const found = await queryIndex(() => openPerConnection(shards, MAX_TASKS));
    return { ...found, at: now };
  });
  return { at: toSeconds(at), is_capped: isCapped, connections };
}

/**
 * Counts the unsettled tasks (without a result, or with a callback or refund still under way), at most 500.
 * @param now current time, in Unix milliseconds.
 */
export async function countUnsettled(shards: Shards, now: number): Promise<OpenCount> {
  return await countOpen(shards, MAX_UNSETTLED, now);
}

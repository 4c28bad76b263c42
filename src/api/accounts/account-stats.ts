import * as z from "zod/mini";
import { DAY_MS, toSeconds } from "../../core/time.ts";
import { accountCounts } from "../../index-db/account-counts.ts";
import { json } from "../http/answer.ts";
import { invalidRequest } from "../http/problem.ts";
import { routeOf } from "../http/route.ts";
import { type Call, NoBody, operation } from "../operation.ts";
import { callbacksView, ratio, tasksView } from "../search/count-views.ts";
import { QueryTimeS } from "../search/filters.ts";
import { queryIndex, requireIndex } from "../search/query-index.ts";

const DEFAULT_MS = 7 * DAY_MS;
/**
 * Largest number of tasks that the statistics of an account count. When an account has more tasks, only the newest
 * are counted.
 */
const MAX_TASKS = 10_000;

/**
 * Largest number of tasks that the statistics of an account count for a page of the console. It is less than
 * `MAX_TASKS`, because such a page is opened again and again and D1 bills up to three rows for each task.
 */
export const MAX_NEWEST_TASKS = 2_000;

const STATS = {
  access: "read",
  rateLimit: "LIMIT_LISTS",
  params: ["account"],
  query: z.strictObject({ since: QueryTimeS, until: QueryTimeS }),
  body: NoBody,
} as const;

/** Counts the tasks of an account that were created in a time range, by default the last 7 days. */
const readAccountStats = operation(
  "readAccountStats",
  STATS,
  async (call) => await statsOf(call, MAX_TASKS),
);

/**
 * Counts the tasks of an account that were created in a time range (by default the last 7 days), but only the newest
 * 2,000 of them. Only the console uses this operation.
 */
export const readNewestAccountStats = operation(
  "readNewestAccountStats",
  STATS,
  async (call) => await statsOf(call, MAX_NEWEST_TASKS),
);

/**
 * Counts the tasks of an account.
 * @param limit largest number of tasks that are counted. When there are more, only the newest are counted.
 */
async function statsOf(
  { env, runtime, params: { account }, query }: Call<"account", z.output<typeof STATS.query>, null>,
  limit: number,
) {
  const shards = requireIndex(env, runtime);
  const until = query.until ?? toSeconds(Date.now()) + 1;
  const since = query.since ?? Math.max(0, until - DEFAULT_MS / 1000);
  if (since >= until) throw invalidRequest([{ path: "/since", message: "must be before until" }]);
  const window = { since: since * 1000, until: until * 1000 };
  const found = await queryIndex(() => accountCounts(shards, account, window, limit));
  const { counts, isCapped, oldestAt } = found;
  const callbacks = callbacksView(counts);
  return {
    since,
    until,
    oldest_at: oldestAt === null ? null : toSeconds(oldestAt),
    is_capped: isCapped,
    tasks: tasksView(counts, counts),
    callbacks: {
      ...callbacks,
      success_rate: ratio(callbacks.delivered, callbacks.delivered + callbacks.failed),
    },
  };
}

export const readAccountStatsRoute = routeOf(
  { method: "GET", path: "/v1/accounts/{account}/stats" },
  readAccountStats,
  (stats) => json(stats),
);

import * as z from "zod/mini";
import { toSeconds } from "../../core/time.ts";
import type { Runtime } from "../../config/runtime.ts";
import type { Env } from "../../env.ts";
import type { Shards } from "../../index-db/shards.ts";
import {
  failedCallbacks,
  failedCallbacksOf,
  newestOfHost,
  nextTasks,
} from "../../index-db/troubled-tasks.ts";
import { requireHost } from "../hosts/host-name.ts";
import { pausedHosts } from "../hosts/paused-hosts.ts";
import { json } from "../http/answer.ts";
import { pageLimit } from "../http/query.ts";
import { routeOf } from "../http/route.ts";
import { NoBody, NoQuery, operation } from "../operation.ts";
import { failuresOf, hostViews, viewer, windowView } from "./host-views.ts";
import { queryIndex, requireIndex } from "./query-index.ts";
import { type RecentCounts, recentCounts } from "./recent-counts.ts";

/**
 * For a list of hosts, at most this many tasks with a failed callback are read from the index, and at most this many
 * unsettled tasks (without a result, or with a callback or refund still under way). D1 bills two rows for each.
 */
const MAX_TASKS = 1_000;
/**
 * Limit that replaces `MAX_TASKS` once this isolate has listed the hosts from the same hourly counts before. A page
 * that stays open asks for the list again and again, and each row costs money.
 */
const FEW_TASKS = 50;
/**
 * Hourly counts from which this isolate has already listed the hosts. A further list from the same counts reads at most
 * `FEW_TASKS` tasks.
 */
const searched = new WeakSet<RecentCounts>();
/**
 * For the statistics of one host, at most this many of the newest failed callbacks of all hosts are read, to find those
 * to this host, and at most this many of the newest tasks, to find the last callback that was delivered to it and the
 * accounts whose callbacks go to it.
 */
const MAX_ENTRIES = 2_000;
const MAX_ACCOUNTS = 20;
/** Name of the counts that add up, for each hour, all hosts that are not counted separately. */
const OTHERS = "*";

/** Lists the receivers' hosts with their callbacks of the last 24 hours. Hosts that fail at present come first. */
export const listHosts = operation(
  "listHosts",
  {
    access: "inspect",
    query: z.strictObject({ limit: pageLimit({ fallback: 100, max: 500 }) }),
    body: NoBody,
  },
  async ({ env, runtime, query: { limit } }) => {
    const { data, ...rest } = await allHosts(env, requireIndex(env, runtime));
    const failing = data.filter((host) => host.failing !== null).length;
    return { failing, list: { ...rest, total: data.length, data: data.slice(0, limit) } };
  },
);

export const listHostsRoute = routeOf({ method: "GET", path: "/v1/hosts" }, listHosts, ({ list }) =>
  json(list),
);

/** Reads the statistics of one host: its callbacks of the last 24 hours, and how callbacks to it fail. */
export const readHost = operation(
  "readHost",
  { access: "inspect", params: ["host"], query: NoQuery, body: NoBody },
  async ({ env, runtime, params: { host } }) => await oneHostView(host, env, runtime),
);

export const readHostRoute = routeOf(
  { method: "GET", path: "/v1/hosts/{host}" },
  readHost,
  (host) => json(host),
);

/**
 * Returns the receivers' hosts that have callbacks of the last 24 hours or a callback that still fails, or that are
 * paused, each with its callbacks of the last 24 hours. Hosts that fail at present come first.
 */
async function allHosts(env: Env, shards: Shards) {
  const now = Date.now();
  const counts = await queryIndex(() => recentCounts(env, shards, now));
  const limit = searched.has(counts) ? FEW_TASKS : MAX_TASKS;
  searched.add(counts);
  const [failed, next] = await queryIndex(() =>
    Promise.all([failedCallbacks(shards, limit), nextTasks(shards, limit)]),
  );
  const paused = await pausedHosts(env);
  return { ...windowView(counts), data: hostViews({ counts, failed, next }, paused, now) };
}

/**
 * Returns the statistics of one host: its callbacks of the last 24 hours, the time of the last delivered one, the
 * accounts of the newest ones, and the failing ones by outcome and by account.
 * @throws Problem `invalid_request` for a text that is not a host.
 */
async function oneHostView(name: string, env: Env, runtime: Runtime) {
  const host = name === OTHERS ? OTHERS : requireHost(name);
  const shards = requireIndex(env, runtime);
  const now = Date.now();
  const paused = await pausedHosts(env);
  const [counts, failed, next, { accounts, deliveredAt }] = await queryIndex(() =>
    Promise.all([
      recentCounts(env, shards, now),
      failedCallbacksOf(host, shards, MAX_ENTRIES),
      nextTasks(shards, MAX_TASKS),
      newestOfHost(host, shards, MAX_ENTRIES, MAX_ACCOUNTS),
    ]),
  );
  return {
    ...windowView(counts),
    ...viewer({ counts, failed, next }, paused, now)(host),
    last_delivered_at: deliveredAt === null ? null : toSeconds(deliveredAt),
    accounts,
    failures: failuresOf(host, { failed, next }),
  };
}

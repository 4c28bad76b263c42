import { toSeconds } from "../../core/time.ts";
import type { Reader } from "../../core/views/reader.ts";
import type { ListedTask } from "../../index-db/list.ts";
import { countShards, listShards } from "../../index-db/list-shards.ts";
import { readerOf } from "../../task-object/caller.ts";
import { json } from "../http/answer.ts";
import { queryRoute } from "../http/route.ts";
import { queryIndex, requireIndex } from "./query-index.ts";
import { cursorOf, positionOf } from "./cursor.ts";
import { filtersOf, TaskPage } from "./filters.ts";

export const listTasksRoute = queryRoute(
  {
    id: "listTasks",
    method: "GET",
    path: "/v1/tasks",
    access: "read",
    rateLimit: "LIMIT_LISTS",
  },
  TaskPage,
  async ({ env, url, query, runtime, caller }) => {
    const shards = requireIndex(env, runtime);
    const filters = filtersOf(query, caller);
    const { cursorKeys } = runtime.keyring;
    const after = await positionOf(query.cursor, filters, cursorKeys);
    if (query.count) {
      const { count, isCapped } = await queryIndex(() => countShards(shards, filters, after));
      return json({ count, is_capped: isCapped });
    }
    const { tasks, next } = await queryIndex(() =>
      listShards(shards, filters, after, query.limit, Date.now()),
    );
    const nextCursor = next === null ? null : await cursorOf(next, filters, cursorKeys);
    const data = tasks.map((task) => summaryOf(task, readerOf(caller)));
    return json({ data, next_cursor: nextCursor }, 200, {
      "Cache-Control": "private, no-store",
      ...(nextCursor !== null && { Link: linkTo(url, nextCursor) }),
    });
  },
);

function linkTo(url: URL, cursor: string): string {
  const next = new URL(url);
  next.searchParams.set("cursor", cursor);
  return `<${next.href}>; rel="next"`;
}

function summaryOf(task: ListedTask, reader: Reader) {
  const { id, status, model, account, provider, job } = task;
  return {
    id,
    status,
    model,
    created_at: toSeconds(task.createdAt),
    ...(task.completedAt !== null && { completed_at: toSeconds(task.completedAt) }),
    ...(task.finishedAt !== null && { finished_at: toSeconds(task.finishedAt) }),
    ...(task.settledAt !== null && { settled_at: toSeconds(task.settledAt) }),
    ...(account !== null && { account }),
    ...(reader === "operator" && provider !== null && { provider }),
    ...(reader === "operator" && job !== null && { upstream: { id: job } }),
    callback: callbackOf(task),
  };
}

function callbackOf(task: ListedTask) {
  const { callback: status, host, attempts, lastOutcome, lastStatusCode } = task;
  if (status === null) return null;
  return {
    status,
    host,
    attempts,
    ...(lastOutcome !== null && { last_outcome: lastOutcome }),
    ...(lastStatusCode !== null && { last_status_code: lastStatusCode }),
  };
}

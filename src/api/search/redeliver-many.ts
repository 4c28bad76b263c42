import type { Env } from "../../env.ts";
import { listShards } from "../../index-db/list-shards.ts";
import type { Caller } from "../../task-object/caller.ts";
import { json } from "../http/answer.ts";
import { invalidRequest } from "../http/problem.ts";
import { queryBodyRoute } from "../http/route.ts";
import { NoFields } from "../http/fields.ts";
import { idempotencyKeyOf } from "../tasks/idempotency-key.ts";
import { taskClient } from "../tasks/task-client.ts";
import { callTasks } from "./call-tasks.ts";
import { queryIndex, requireIndex } from "./query-index.ts";
import { cursorOf, positionOf } from "./cursor.ts";
import { filtersOf, RedeliveryPage } from "./filters.ts";

export const redeliverMany = queryBodyRoute(
  {
    id: "redeliverMany",
    method: "POST",
    path: "/v1/redeliveries",
    access: "redeliver",
    dryRunAccess: "read",
    rateLimit: "LIMIT_BULK",
  },
  RedeliveryPage,
  NoFields,
  async ({ request, env, query, runtime, caller }) => {
    const shards = requireIndex(env, runtime);
    const { limit, dry_run: isDryRun } = query;
    const filters = filtersOf(query, caller);
    const key = idempotencyKeyOf(request.headers);
    if (key === null && !isDryRun) throw keyRequired();
    const { cursorKeys } = runtime.keyring;
    const after = await positionOf(query.cursor, filters, cursorKeys);
    const { tasks, next } = await queryIndex(() =>
      listShards(shards, filters, after, limit, Date.now()),
    );
    const ids = tasks.map(({ id }) => id);
    const started = key === null || isDryRun ? 0 : await redeliver(ids, key, env, caller);
    return json({
      matched: ids.length,
      started,
      skipped: isDryRun ? 0 : ids.length - started,
      next_cursor: next === null ? null : await cursorOf(next, filters, cursorKeys),
    });
  },
);

/**
 * Orders one more attempt of the callback of each task, once per `Idempotency-Key`. The Durable Object of a
 * task skips the order when the task has no result yet, is still sending its callback, was erased, or has had
 * this order already. The list of tasks comes from the index, which may lag behind the objects.
 * @returns the number of tasks that got the order.
 */
async function redeliver(
  ids: readonly string[],
  idempotencyKey: string,
  env: Env,
  caller: Caller,
): Promise<number> {
  const event = { type: "redeliver", attempts: 1, callbackUrl: null, idempotencyKey } as const;
  const outcomes = await callTasks(ids, async (id) => {
    const { kind } = await taskClient(env, id).apply(event, caller);
    return kind;
  });
  return outcomes.filter((outcome) => outcome === "recorded").length;
}

function keyRequired() {
  const message = "is required, so that a repeated or interrupted run sends nothing twice";
  return invalidRequest([{ path: "/Idempotency-Key", message }]);
}

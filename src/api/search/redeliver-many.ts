import type { Env } from "../../env.ts";
import type { ListedTask } from "../../index-db/list.ts";
import { listShards } from "../../index-db/list-shards.ts";
import type { Caller } from "../../task-object/caller.ts";
import type { Refusal } from "../../task-object/reply.ts";
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

/** Largest number of tasks whose callbacks one request redelivers. */
const MAX_REDELIVERED = 500;

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
    if (limit > MAX_REDELIVERED && !isDryRun) throw tooMany();
    const { cursorKeys } = runtime.keyring;
    const after = await positionOf(query.cursor, filters, cursorKeys);
    const { tasks, next } = await queryIndex(() =>
      listShards(shards, filters, after, limit, Date.now()),
    );
    const isOrdered = key !== null && !isDryRun;
    const effects = isOrdered ? await redeliver(tasks, key, env, caller) : tasks.map(expectedOf);
    const skipped = effects.filter((effect) => effect !== "started");
    return json({
      matched: tasks.length,
      started: isOrdered ? tasks.length - skipped.length : 0,
      skipped: skipped.length,
      skipped_because: countsOf(skipped),
      next_cursor: next === null ? null : await cursorOf(next, filters, cursorKeys),
    });
  },
);

/** Effect of an order on one task: `started`, or the reason why the task is skipped. */
type Effect = "started" | "already_ordered" | "unreachable" | Refusal["code"];

/**
 * Orders one more attempt of the callback of each task, once per `Idempotency-Key`. The Durable Object of a
 * task skips the order when the task has no result yet, is still sending its callback, was erased, or has had
 * this order already. The list of tasks comes from the index, which may lag behind the objects.
 */
async function redeliver(
  tasks: readonly ListedTask[],
  idempotencyKey: string,
  env: Env,
  caller: Caller,
): Promise<readonly Effect[]> {
  const event = { type: "redeliver", attempts: 1, callbackUrl: null, idempotencyKey } as const;
  const ids = tasks.map(({ id }) => id);
  const effects = await callTasks(ids, async (id): Promise<Effect> => {
    const applied = await taskClient(env, id).apply(event, caller);
    if (applied.kind === "refused") return applied.refusal.code;
    return applied.kind === "recorded" ? "started" : "already_ordered";
  });
  return effects.map((effect) =>
    effect === "failed" || effect === "unasked" ? "unreachable" : effect,
  );
}

/** Returns the effect that an order would have on a task, by its row in the index. */
function expectedOf({ callback }: ListedTask): Effect {
  switch (callback) {
    case null:
      return "no_callback";
    case "waiting":
      return "task_open";
    case "sending":
      return "series_running";
    case "delivered":
    case "failed":
      return "started";
  }
}

function countsOf(effects: readonly Effect[]): Readonly<Record<string, number>> {
  const groups = Map.groupBy(effects, (effect) => effect);
  return Object.fromEntries([...groups].map(([effect, group]) => [effect, group.length]));
}

function tooMany() {
  const message = `must be a whole number from 1 to ${MAX_REDELIVERED} without dry_run`;
  return invalidRequest([{ path: "/limit", message }]);
}

function keyRequired() {
  const message = "is required, so that a repeated or interrupted run sends nothing twice";
  return invalidRequest([{ path: "/Idempotency-Key", message }]);
}

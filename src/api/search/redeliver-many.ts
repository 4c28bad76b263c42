import type * as z from "zod/mini";
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
import type { Reading } from "./list-tasks.ts";
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
  async ({ request, query, ...reading }) => {
    const key = idempotencyKeyOf(request.headers);
    if (key === null && !query.dry_run) throw keyRequired();
    if (query.limit > MAX_REDELIVERED && !query.dry_run) throw tooMany();
    return json(await redeliverPage(query, query.dry_run ? null : key, reading));
  },
);

/**
 * Orders one more attempt of the callback of each task on one page of a list of tasks, and counts the
 * effects.
 * @param key `Idempotency-Key`, the same for all pages of a list, under which each task is redelivered once.
 * With null nothing is ordered; the effects are those that the rows of the index let expect.
 */
export async function redeliverPage(
  query: Omit<z.output<typeof RedeliveryPage>, "dry_run">,
  key: string | null,
  { env, runtime, caller }: Reading,
) {
  const shards = requireIndex(env, runtime);
  const filters = filtersOf(query, caller);
  const { cursorKeys } = runtime.keyring;
  const after = await positionOf(query.cursor, filters, cursorKeys);
  const { tasks, next } = await queryIndex(() =>
    listShards(shards, filters, after, query.limit, Date.now()),
  );
  const ids = tasks.map(({ id }) => id);
  const effects =
    key === null ? tasks.map(expectedOf) : await redeliverTasks(ids, key, env, caller);
  return {
    ...countedEffects(effects, key !== null),
    next_cursor: next === null ? null : await cursorOf(next, filters, cursorKeys),
  };
}

/**
 * Counts on how many tasks an order of redeliveries started an attempt, and how many it skipped, by reason.
 * @param isOrdered false when the order was only simulated, so that no attempt has started.
 */
export function countedEffects(effects: readonly Effect[], isOrdered: boolean) {
  const skipped = effects.filter((effect) => effect !== "started");
  return {
    matched: effects.length,
    started: isOrdered ? effects.length - skipped.length : 0,
    skipped: skipped.length,
    skipped_because: countsOf(skipped),
  };
}

/** Effect of a redelivery order on one task: `started`, or the reason why the task is skipped. */
type Effect = "started" | "already_ordered" | "unreachable" | Refusal["code"];

/**
 * Orders one more attempt of the callback of each task, once per `Idempotency-Key`. The Durable Object of a
 * task skips the order when the task has no result yet, is still sending its callback, was erased, or has had
 * this order already. The list of tasks comes from the index, which may lag behind the objects.
 */
export async function redeliverTasks(
  ids: readonly string[],
  idempotencyKey: string,
  env: Env,
  caller: Caller,
): Promise<readonly Effect[]> {
  const event = { type: "redeliver", attempts: 1, callbackUrl: null, idempotencyKey } as const;
  const effects = await callTasks(ids, async (id): Promise<Effect> => {
    const applied = await taskClient(env, id).apply(event, caller);
    if (applied.kind === "refused") return applied.refusal.code;
    return applied.kind === "recorded" ? "started" : "already_ordered";
  });
  return effects.map((effect) =>
    effect === "failed" || effect === "unasked" ? "unreachable" : effect,
  );
}

/**
 * Returns the effect that a redelivery order would have on a task, as far as the task's row in the index
 * shows.
 */
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

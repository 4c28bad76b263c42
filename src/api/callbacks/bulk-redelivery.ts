import * as z from "zod/mini";
import type { Env } from "../../env.ts";
import type { ListedTask } from "../../index-db/list.ts";
import { callTasks } from "../../objects/task/call-tasks.ts";
import type { Caller } from "../../objects/task/caller.ts";
import type { Refusal } from "../../objects/task/reply.ts";
import { json } from "../http/answer.ts";
import { invalidRequest, Problem } from "../http/problem.ts";
import { routeOf } from "../http/route.ts";
import { NoFields, TaskId } from "../http/fields.ts";
import { NoQuery, operation } from "../operation.ts";
import { taskClient } from "../tasks/task-client.ts";
import { RedeliveryPage } from "../search/filters.ts";
import { pageOf } from "../search/list-tasks.ts";

/** Largest number of tasks whose callbacks one request redelivers. */
const MAX_REDELIVERED = 500;

/** Largest number of tasks that can be selected in a list of the console. */
export const MAX_SELECTED = 50;

const BULK = {
  rateLimit: "LIMIT_BULK",
  query: RedeliveryPage,
  body: NoFields,
  takesIdempotencyKey: true,
} as const;

/**
 * Orders one more attempt of the callback of each task on one page of a list of tasks. For all pages of one list, the
 * caller sends the same `Idempotency-Key`, under which each task makes only one such attempt.
 */
export const redeliverMany = operation(
  "redeliverMany",
  { ...BULK, access: "redeliver" },
  async ({ query, idempotencyKey, env, runtime, caller }) => {
    if (idempotencyKey === null) throw keyRequired();
    if (query.limit > MAX_REDELIVERED) throw tooMany();
    const { tasks, next_cursor } = await pageOf(query, { env, runtime, caller });
    const effects = await redeliverTasks(tasks, idempotencyKey, env, caller);
    return { ...countedEffects(effects, true), next_cursor };
  },
);

/**
 * Counts the effects that a bulk redelivery of one page of a list of tasks would have. The count uses only the index,
 * whose rows may be out of date.
 */
export const countRedeliveries = operation(
  "countRedeliveries",
  { ...BULK, access: "read" },
  async ({ query, env, runtime, caller }) => {
    const { tasks, next_cursor } = await pageOf(query, { env, runtime, caller });
    return { ...countedEffects(tasks.map(expectedOf), false), next_cursor };
  },
);

/**
 * Effects that a bulk redelivery has on one page of a list of tasks, with the cursor of the next page (null on the last
 * page).
 */
export type BulkEffects = Counted & { readonly next_cursor: string | null };

const WIRE = { method: "POST", path: "/v1/redeliveries" } as const;
const countRoute = routeOf(WIRE, countRedeliveries, (effects) => json(effects));
const orderRoute = routeOf(WIRE, redeliverMany, (effects) => json(effects));

/**
 * Route of a bulk redelivery. With `dry_run=true` it only counts what a redelivery would do, for which the permission
 * `read` is enough.
 */
export const redeliverManyRoute: typeof orderRoute = {
  ...orderRoute,
  handle: async (call) => {
    const isDryRun = call.url.searchParams.get("dry_run") === "true";
    return await (isDryRun ? countRoute : orderRoute).handle(call);
  },
};

/**
 * Orders one more attempt of the callback of each of the given tasks, once per `Idempotency-Key`. Only the console
 * uses this operation.
 */
export const redeliverSelected = operation(
  "redeliverSelected",
  {
    access: "redeliver",
    rateLimit: "LIMIT_BULK",
    query: NoQuery,
    body: z.strictObject({ ids: z.array(TaskId).check(z.maxLength(MAX_SELECTED)) }),
    takesIdempotencyKey: true,
  },
  async ({ body: { ids }, idempotencyKey, env, caller }) => {
    if (idempotencyKey === null) throw keyRequired();
    const tasks = ids.map((id) => ({ id }));
    return countedEffects(await redeliverTasks(tasks, idempotencyKey, env, caller), true);
  },
);

/**
 * Returns the number of tasks for which an order of redeliveries has started an attempt, and the numbers of skipped
 * tasks by reason.
 * @param isOrdered false when the order was only simulated, so that no attempt has started.
 */
function countedEffects(effects: readonly Effect[], isOrdered: boolean) {
  const skipped = effects.filter((effect) => effect !== "started");
  return {
    matched: effects.length,
    started: isOrdered ? effects.length - skipped.length : 0,
    skipped: skipped.length,
    skipped_because: countsOf(skipped),
  };
}

type Counted = ReturnType<typeof countedEffects>;

/** Effect of a redelivery order on one task: `started`, or the reason why the task is skipped. */
type Effect = "started" | "already_ordered" | "unreachable" | Refusal["code"];

/**
 * Orders one more attempt of the callback of each task, once per `Idempotency-Key`. The Durable Object of a task skips
 * the order when the task has no result yet, has no `callback_url`, is still sending its callback, was erased, or has
 * already carried out this order. The object decides, because the list of tasks may come from the index, whose rows may
 * be out of date.
 */
async function redeliverTasks(
  tasks: readonly { readonly id: string }[],
  idempotencyKey: string,
  env: Env,
  caller: Caller,
): Promise<readonly Effect[]> {
  const event = { type: "redeliver", attempts: 1, callbackUrl: null, idempotencyKey } as const;
  const redeliver = async ({ id }: { readonly id: string }): Promise<Effect> => {
    const applied = await taskClient(env, id).apply(event, caller);
    if (applied.kind === "refused") return applied.refusal.code;
    return applied.kind === "recorded" ? "started" : "already_ordered";
  };
  const effects = await callTasks(tasks, redeliver, (error) => error instanceof Problem);
  return effects.map((effect) =>
    effect === "failed" || effect === "unasked" ? "unreachable" : effect,
  );
}

/** Returns the effect that a redelivery order would probably have on a task, judging by the task's index row. */
function expectedOf({ callback }: ListedTask): Effect {
  switch (callback) {
    case null:
      return "no_callback";
    case "waiting":
      return "task_open";
    case "sending":
    case "retrying":
    case "paused":
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
  const message =
    "is required, so that a repeated or interrupted bulk redelivery sends nothing twice";
  return invalidRequest([{ path: "/Idempotency-Key", message }]);
}

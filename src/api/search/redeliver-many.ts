import type { Env } from "../../env.ts";
import { listTasks } from "../../index-db/list.ts";
import type { Viewer } from "../../task/reply.ts";
import { json } from "../http/answer.ts";
import { errorText, log } from "../../log.ts";
import type { RedeliverEvent } from "../../core/events/event.ts";
import { invalidRequest, Problem } from "../http/problem.ts";
import { bodyRoute } from "../http/route.ts";
import { NoFields } from "../schemas.ts";
import { idempotencyKeyOf } from "../tasks/idempotency-key.ts";
import { taskClient } from "../tasks/task-client.ts";
import { queryIndex, requireIndex } from "./query-index.ts";
import { cursorOf, positionOf } from "./cursor.ts";
import { listQueryOf } from "./filters.ts";

const LIMITS = { fallback: 100, max: 500, hasDryRun: true };
const AT_ONCE = 50;

export const redeliverMany = bodyRoute(
  {
    method: "POST",
    path: "/v1/redeliveries",
    access: "owner",
    summary:
      "Send the settled callbacks of a list again, one page a call; ?dry_run=true only counts",
    answers: { 200: "what was found and done; repeat with next_cursor" },
    errors: ["index_disabled"],
  },
  NoFields,
  async ({ request, env, url, runtime, viewer }) => {
    const db = requireIndex(env);
    const query = listQueryOf(url.searchParams, viewer, LIMITS);
    const { filters, limit, isDryRun } = query;
    const key = idempotencyKeyOf(request.headers);
    if (key === null && !isDryRun) throw keyRequired();
    const { cursorKeys } = runtime.keyring;
    const after = await positionOf(query.cursor, filters, cursorKeys);
    const { tasks, next } = await queryIndex(() => listTasks(db, filters, after, limit));
    const ids = tasks.map(({ id }) => id);
    const started = key === null || isDryRun ? 0 : await redeliver(ids, key, env, viewer);
    return json({
      matched: ids.length,
      started,
      skipped: isDryRun ? 0 : ids.length - started,
      next_cursor: next === null ? null : await cursorOf(next, filters, cursorKeys),
    });
  },
);

/**
 * Orders one attempt of each. A task that is open, still sending, gone, or has had this order before is
 * skipped: the objects decide, whatever the index says. @returns how many began.
 */
async function redeliver(
  ids: readonly string[],
  key: string,
  env: Env,
  viewer: Viewer,
): Promise<number> {
  const order = { type: "redeliver", attempts: 1, callbackUrl: null, idempotencyKey: key } as const;
  let started = 0;
  for (let from = 0; from < ids.length; from += AT_ONCE) {
    const page = ids.slice(from, from + AT_ONCE);
    const applied = await Promise.all(page.map((id) => ordered(id, order, env, viewer)));
    started += applied.filter(Boolean).length;
  }
  return started;
}

/** A task that cannot act must not stand in the way of the others. @throws Problem `unavailable`. */
async function ordered(
  id: string,
  order: RedeliverEvent,
  env: Env,
  viewer: Viewer,
): Promise<boolean> {
  try {
    const { kind } = await taskClient(env, id).apply(order, viewer);
    return kind === "recorded";
  } catch (error) {
    if (error instanceof Problem) throw error;
    log({ event: "task.unreachable", task_id: id, error: errorText(error) });
    return false;
  }
}

function keyRequired() {
  const message = "is required, so that a repeated or broken-off run sends nothing twice";
  return invalidRequest([{ path: "/Idempotency-Key", message }]);
}

import type { Runtime } from "../../config/runtime.ts";
import type { Env } from "../../env.ts";
import type { Caller } from "../../task-object/caller.ts";
import { route } from "../http/route.ts";
import { removeRows } from "../../index-db/writer.ts";
import { type Shards, shardsOf } from "../../index-db/shards.ts";
import { INDEX_TIMEOUT_MS } from "../../index-db/database.ts";
import { withTimeout } from "../../timeout.ts";
import { accepted, taskClient } from "./task-client.ts";

export const eraseTask = route(
  {
    id: "eraseTask",
    method: "DELETE",
    path: "/v1/tasks/{id}",
    access: "administer",
  },
  async ({ env, runtime, params: { id }, caller }) => {
    await eraseStored(id, caller, runtime, env);
    return new Response(null, { status: 204 });
  },
);

/**
 * Erases a task and its row in the index.
 * @throws Problem when the task has no result yet, or its callback or refund is still under way.
 */
export async function eraseStored(
  id: string,
  caller: Caller,
  { config }: Runtime,
  env: Env,
): Promise<void> {
  const applied = await taskClient(env, id).apply({ type: "erase" }, caller);
  if (applied.kind !== "erased") {
    const { task } = accepted(applied);
    throw new Error(`the task was not erased: version ${task.version}`);
  }
  const { createdAt, version } = applied;
  await removeIndexRow(shardsOf(env, config), { id, createdAt, version });
}

/**
 * Deletes the row of an erased task from the index. A failure is ignored, because the cron trigger deletes
 * the row when it expires.
 */
async function removeIndexRow(
  shards: Shards | null,
  task: Parameters<typeof removeRows>[1][number],
): Promise<void> {
  const remove = async () => {
    if (shards !== null) await removeRows(shards.at(task.createdAt), [task]);
  };
  await withTimeout("index", remove, undefined, INDEX_TIMEOUT_MS);
}

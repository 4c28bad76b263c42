import { routeOf } from "../http/route.ts";
import { NoBody, NoQuery, operation } from "../operation.ts";
import { removeRows } from "../../index-db/index-row-table.ts";
import type { Shards } from "../../index-db/shards.ts";
import { INDEX_TIMEOUT_MS } from "../../index-db/database.ts";
import { shardsOf } from "../../objects/index/index-shards.ts";
import { withTimeout } from "../../lib/timeout.ts";
import { accepted, taskClient } from "./task-client.ts";

/**
 * Erases a task and its row in the index. A task is not erased while it is open, or while its callback or refund is
 * under way.
 */
export const eraseTask = operation(
  "eraseTask",
  { access: "administer", params: ["id"], query: NoQuery, body: NoBody },
  async ({ env, runtime, params: { id }, caller }) => {
    const applied = await taskClient(env, id).apply({ type: "erase" }, caller);
    if (applied.kind !== "erased") {
      const { task } = accepted(applied);
      throw new Error(`the task was not erased: version ${task.version}`);
    }
    const { createdAt, version } = applied;
    await removeIndexRow(shardsOf(env, runtime.config), { id, createdAt, version });
  },
);

export const eraseTaskRoute = routeOf(
  { method: "DELETE", path: "/v1/tasks/{id}" },
  eraseTask,
  () => new Response(null, { status: 204 }),
);

/**
 * Deletes the index row of an erased task. A failure is ignored, because the cron trigger deletes the row once it has
 * expired.
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

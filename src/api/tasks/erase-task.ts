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
    const applied = await taskClient(env, id).apply({ type: "erase" }, caller);
    if (applied.kind === "erased") {
      await removeIndexRow(shardsOf(env, runtime.config), {
        id,
        createdAt: applied.createdAt,
        version: applied.version,
      });
      return new Response(null, { status: 204 });
    }
    const { task } = accepted(applied);
    throw new Error(`the task was not erased: version ${task.version}`);
  },
);

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

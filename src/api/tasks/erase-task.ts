import { route } from "../http/route.ts";
import type { Env } from "../../env.ts";
import { removeRows } from "../../index-db/writer.ts";
import { INDEX_TIMEOUT_MS } from "../../index-db/database.ts";
import { withTimeout } from "../../timeout.ts";
import { accepted, taskClient } from "./task-client.ts";

export const eraseTask = route(
  {
    method: "DELETE",
    path: "/v1/tasks/{id}",
    access: "operator",
    summary: "Erase a settled task",
    answers: { 204: "erased" },
    errors: ["unknown_task", "task_open", "series_running"],
  },
  async ({ env, params: { id }, caller }) => {
    const applied = await taskClient(env, id).apply({ type: "erase" }, caller);
    if (applied.kind === "erased") {
      await removeIndexRow(env, { id, createdAt: applied.createdAt, version: applied.version });
      return new Response(null, { status: 204 });
    }
    const { task } = accepted(applied);
    throw new Error(`the task was not erased: version ${task.version}`);
  },
);

/** Removes the index row of an erased task. A failure is ignored, because the row expires anyway. */
async function removeIndexRow(
  { INDEX_DB: db }: Env,
  task: Parameters<typeof removeRows>[1][number],
): Promise<void> {
  if (db !== undefined)
    await withTimeout("index", () => removeRows(db, [task]), undefined, INDEX_TIMEOUT_MS);
}

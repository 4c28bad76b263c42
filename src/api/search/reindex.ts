import * as z from "zod/mini";
import { taskObject } from "../../objects/task/task-stub.ts";
import { json } from "../http/answer.ts";
import { callObject } from "../http/object-call.ts";
import { routeOf } from "../http/route.ts";
import { NoQuery, operation } from "../operation.ts";
import { listOf, TaskId } from "../http/fields.ts";
import { callTasks } from "./call-tasks.ts";
import { requireIndex } from "./query-index.ts";

const Ids = z.strictObject({ ids: listOf(TaskId, 500) });

/** Makes the Durable Objects of the given tasks write the rows of these tasks in the index again. */
const reindex = operation(
  "reindex",
  { access: "operate", query: NoQuery, body: Ids },
  async ({ env, runtime, body: { ids } }) => {
    requireIndex(env, runtime);
    const outcomes = await callTasks(ids, async (id) => {
      const createdAt = await callObject(() => taskObject(env, id).rewriteIndexRow());
      return createdAt === null ? "unknown" : "indexed";
    });
    const count = (outcome: (typeof outcomes)[number]) =>
      outcomes.filter((one) => one === outcome).length;
    const failed = count("failed") + count("unasked");
    return { indexed: count("indexed"), unknown: count("unknown"), failed };
  },
);

export const reindexRoute = routeOf({ method: "POST", path: "/v1/reindex" }, reindex, (counts) =>
  json(counts),
);

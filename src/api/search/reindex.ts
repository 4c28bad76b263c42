import * as z from "zod/mini";
import { callTasks } from "../../objects/task/call-tasks.ts";
import { taskObject } from "../../objects/task/task-stub.ts";
import { json } from "../http/answer.ts";
import { callObject } from "../http/object-call.ts";
import { Problem } from "../http/problem.ts";
import { routeOf } from "../http/route.ts";
import { NoQuery, operation } from "../operation.ts";
import { listOf, TaskId } from "../http/fields.ts";
import { requireIndex } from "./query-index.ts";

const Ids = z.strictObject({ ids: listOf(TaskId, 500) });

/** Makes the Durable Objects of the given tasks write the rows of these tasks in the index again. */
const reindex = operation(
  "reindex",
  { access: "operate", query: NoQuery, body: Ids },
  async ({ env, runtime, body: { ids } }) => {
    requireIndex(env, runtime);
    const outcomes = await callTasks(
      ids.map((id) => ({ id })),
      async ({ id }) => {
        const createdAt = await callObject(() => taskObject(env, id).rewriteIndexRow());
        return createdAt === null ? "unknown" : "indexed";
      },
      (error) => error instanceof Problem,
    );
    const count = (outcome: (typeof outcomes)[number]) =>
      outcomes.filter((one) => one === outcome).length;
    const failed = count("failed") + count("unasked");
    return { indexed: count("indexed"), unknown: count("unknown"), failed };
  },
);

export const reindexRoute = routeOf({ method: "POST", path: "/v1/reindex" }, reindex, (counts) =>
  json(counts),
);

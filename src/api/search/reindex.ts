import * as z from "zod";
import type { Env } from "../../env.ts";
import { errorText, log } from "../../log.ts";
import { json } from "../http/answer.ts";
import { Problem } from "../http/problem.ts";
import { callObject } from "../http/object-call.ts";
import { bodyRoute } from "../http/route.ts";
import { TaskId } from "../schemas.ts";
import { requireIndex } from "./query-index.ts";

const Ids = z.strictObject({ ids: z.array(TaskId).min(1).max(500) });
const AT_ONCE = 50;

export const reindex = bodyRoute(
  {
    method: "POST",
    path: "/v1/reindex",
    access: "operator",
    summary: "Have tasks write their rows anew, to repair the index",
    answers: { 200: "how many will, and how many ids are unknown" },
    errors: ["index_disabled"],
  },
  Ids,
  async ({ env, body: { ids } }) => {
    requireIndex(env);
    let indexed = 0;
    let failed = 0;
    for (let from = 0; from < ids.length; from += AT_ONCE) {
      const page = ids.slice(from, from + AT_ONCE);
      const known = await Promise.all(page.map((id) => republished(id, env)));
      indexed += known.filter((outcome) => outcome === "indexed").length;
      failed += known.filter((outcome) => outcome === "failed").length;
    }
    return json({ indexed, unknown: ids.length - indexed - failed, failed });
  },
);

/** @throws Problem `unavailable`. */
async function republished(id: string, env: Env): Promise<"indexed" | "unknown" | "failed"> {
  try {
    const createdAt = await callObject(() => env.TASKS.getByName(id).republish());
    return createdAt === null ? "unknown" : "indexed";
  } catch (error) {
    if (error instanceof Problem) throw error;
    log({ event: "task.unreachable", task_id: id, error: errorText(error) });
    return "failed";
  }
}

import * as z from "zod/mini";
import { describeHolders } from "../../security/roles.ts";
import { may } from "../../task-object/caller.ts";
import { json } from "../http/answer.ts";
import { Problem } from "../http/problem.ts";
import { Flag } from "../http/query.ts";
import { queryRoute } from "../http/route.ts";
import { requestOf } from "./attempt-request.ts";
import { requireCallback } from "./stored-callback.ts";

export const readAttemptRequest = queryRoute(
  {
    id: "readAttemptRequest",
    method: "GET",
    path: "/v1/tasks/{id}/attempts/{number}/request",
    access: "read",
    rateLimit: "LIMIT_LISTS",
  },
  z.strictObject({ fresh: Flag }),
  async ({ query, env, runtime, params: { id, number }, caller }) => {
    if (query.fresh && !may(caller, "redeliver")) {
      const detail = `A fresh signature needs ${describeHolders("redeliver")}.`;
      throw new Problem("forbidden", { detail });
    }
    const callback = await requireCallback(env, id, caller);
    const attempt = callback.attempts.find((each) => String(each.number) === number);
    if (attempt === undefined) {
      throw new Problem("not_found", { detail: "The task has no stored attempt of this number." });
    }
    const signedAt = query.fresh ? Date.now() : null;
    const headers = { "Cache-Control": "no-store" };
    return json(await requestOf(callback, attempt, signedAt, runtime, env), 200, headers);
  },
);

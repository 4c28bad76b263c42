import * as z from "zod/mini";
import { describeHolders } from "../../security/roles.ts";
import { may } from "../../objects/task/caller.ts";
import { json } from "../http/answer.ts";
import { Problem } from "../http/problem.ts";
import { Flag } from "../http/query.ts";
import { routeOf } from "../http/route.ts";
import { NoBody, operation } from "../operation.ts";
import { requestOf } from "./attempt-request.ts";
import { requireCallback } from "./stored-callback.ts";

/** Returns the request of a callback attempt, computed again: as it was sent, or with a fresh signature. */
const readAttemptRequest = operation(
  "readAttemptRequest",
  {
    access: "read",
    rateLimit: "LIMIT_LISTS",
    params: ["id", "number"],
    query: z.strictObject({ fresh: Flag }),
    body: NoBody,
  },
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
    return await requestOf(callback, attempt, signedAt, runtime, env);
  },
);

export const readAttemptRequestRoute = routeOf(
  {
    method: "GET",
    path: "/v1/tasks/{id}/attempts/{number}/request",
  },
  readAttemptRequest,
  (request) => json(request, 200, { "Cache-Control": "no-store" }),
);

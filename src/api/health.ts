import { placedRuntimeOf } from "../objects/placed-runtime.ts";
import { may } from "../objects/task/caller.ts";
import { healthDetails } from "./health/details.ts";
import { json } from "./http/answer.ts";
import { operatorOf } from "./http/auth.ts";
import { publicRoute } from "./http/route.ts";

export const readHealth = publicRoute(
  {
    id: "readHealth",
    method: "GET",
    path: "/healthz",
  },
  async ({ env, request }) => {
    const result = await placedRuntimeOf(env);
    if (!result.ok) {
      const headers = { "Retry-After": "60" };
      return json({ status: "not_configured", issues: result.error }, 503, headers);
    }
    const runtime = result.value;
    const { config } = runtime;
    const head = { status: "ok", version: env.startup.version, paused: config.paused };
    const operator = await operatorOf(request.headers, runtime);
    if (operator === null || !may(operator, "statistics")) return json(head);
    return json({ ...head, ...(await healthDetails(config, env)) });
  },
);

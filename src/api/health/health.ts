import { comparedRuntimeOf, placedRuntimeOf } from "../../objects/placed-runtime.ts";
import { may } from "../../objects/task/caller.ts";
import { healthDetails } from "./details.ts";
import { json } from "../http/answer.ts";
import { operatorOf } from "../http/auth.ts";
import { publicRoute } from "../http/route.ts";

export const readHealth = publicRoute(
  {
    id: "readHealth",
    method: "GET",
    path: "/healthz",
  },
  async ({ env, request }) => {
    const { runtime } = env.startup;
    const operator = runtime.ok ? await operatorOf(request.headers, runtime.value) : null;
    const isExamined = operator !== null && may(operator, "statistics");
    // Who examines the deployment waits for the comparison of its jurisdiction; a monitor does not.
    const result = isExamined ? await comparedRuntimeOf(env) : placedRuntimeOf(env);
    if (!result.ok) {
      const headers = { "Retry-After": "60" };
      return json({ status: "not_configured", issues: result.error }, 503, headers);
    }
    const { config } = result.value;
    const head = { status: "ok", version: env.startup.version, paused: config.paused };
    if (!isExamined) return json(head);
    return json({ ...head, ...(await healthDetails(config, env)) });
  },
);

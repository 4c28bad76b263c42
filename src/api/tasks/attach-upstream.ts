import { endpointFault } from "../../providers/endpoint.ts";
import { taskAnswer } from "../http/answer.ts";
import { canHooksArrive } from "../hooks/hook-url.ts";
import { requireConnection } from "./connection.ts";
import { invalidRequest } from "../http/problem.ts";
import { routeOf } from "../http/route.ts";
import { NoQuery, operation } from "../operation.ts";
import { Attachment } from "./task-schemas.ts";
import { accepted, taskClient } from "./task-client.ts";

/**
 * Attaches the upstream job to a task, after the client has learned the id of the job from the provider's response to
 * the submit call.
 */
const attachUpstream = operation(
  "attachUpstream",
  { access: "operate", params: ["id"], query: NoQuery, body: Attachment },
  async (call) => {
    const { env, runtime, params, caller, body } = call;
    const connection = requireConnection(body.provider, runtime.config);
    const { provider, key } = connection;
    const fault = endpointFault(provider, body.endpoint, key !== null);
    if (fault !== null) throw invalidRequest([{ path: "/endpoint", message: fault }]);
    const job = { id: body.id, endpoint: body.endpoint };
    const isHookExpected = provider.hooks !== null && canHooksArrive(call);
    const event = { type: "attach", connection: connection.name, job, isHookExpected } as const;
    return accepted(await taskClient(env, params.id).apply(event, caller)).task;
  },
);

export const attachUpstreamRoute = routeOf(
  { method: "POST", path: "/v1/tasks/{id}/upstream" },
  attachUpstream,
  (task) => taskAnswer(task, 200),
);

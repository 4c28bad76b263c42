import type { Connection } from "../../providers/provider.ts";
import { accepted, taskAnswer } from "../http/answer.ts";
import { requireConnection } from "./connection.ts";
import { invalidRequest } from "../http/problem.ts";
import { bodyRoute } from "../http/route.ts";
import { Attachment } from "../schemas.ts";
import { taskClient } from "./task-client.ts";

export const attachUpstream = bodyRoute(
  {
    method: "POST",
    path: "/v1/tasks/{id}/upstream",
    access: "operator",
    summary: "Say under which id the upstream works, as its submit call returned it",
    answers: { 200: "the task; hooks that came before are judged now" },
    errors: ["unknown_task", "task_settled"],
  },
  Attachment,
  async ({ env, runtime, id, caller, body }) => {
    const connection = requireConnection(body.provider, runtime.config);
    requireEndpoint(connection, body.endpoint);
    const job = { id: body.id, endpoint: body.endpoint };
    const event = { type: "attach", connection: connection.name, job } as const;
    const { task } = accepted(await taskClient(env, id).apply(event, caller));
    return taskAnswer(task, 200);
  },
);

/** Without it the provider could not be asked. @throws Problem `invalid_request`. */
function requireEndpoint({ provider, key }: Connection, endpoint: string | null): void {
  const wanted = provider.polls?.endpoint ?? null;
  if (wanted === null && endpoint !== null) {
    throw invalidRequest([{ path: "/endpoint", message: `is not used by ${provider.name}` }]);
  }
  if (wanted !== null && endpoint !== null && !wanted.pattern.test(endpoint)) {
    throw invalidRequest([{ path: "/endpoint", message: `must be ${wanted.meaning}` }]);
  }
  if (wanted?.isRequired === true && endpoint === null && key !== null) {
    throw invalidRequest([{ path: "/endpoint", message: `is required: ${wanted.meaning}` }]);
  }
}

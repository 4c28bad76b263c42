import { jsonAnswer, type RouteDescription } from "../http/route.openapi.ts";
import { CANCELED_TASK, OPEN_TASK } from "../shapes/task-shape.openapi.ts";
import { Task } from "../shapes/task-shape.ts";

const CANCELING_TASK = {
  ...OPEN_TASK,
  cancel: {
    state: "refused" as const,
    reason: "order" as const,
    requested_at: OPEN_TASK.created_at + 60,
    answered_at: OPEN_TASK.created_at + 60,
    status_code: 409,
  },
};

export const cancelTaskDescription = {
  audience: "client",
  summary: "Cancel an open task: it fails with code canceled and is refunded",
  details:
    "Where the provider of the task's job documents how, the job is canceled at the upstream first, in up to three calls; the answer waits at most 5 seconds for the outcome. After a confirmation the task fails. When the job had ended, its result counts, and the answer is `task_settled`. Otherwise the task goes on, and `cancel` says why: `asked` while the upstream is asked or has only taken the order, `refused`, or `unknown`; a later order asks again. Where nobody can be asked, the task of an operator's order fails at once, with `cancel.state` `not_sent`: a job that runs goes on. A key of an account cancels only what the account has submitted, and only where the upstream can be asked.",
  request: {
    example: {},
    query: {
      force: {
        description:
          "`true` fails and refunds the task at once, whatever becomes of its job. For operator keys only.",
        example: true,
      },
    },
  },
  answers: {
    200: jsonAnswer("the failed task", Task, CANCELED_TASK),
    202: jsonAnswer("the task, which goes on", Task, CANCELING_TASK),
  },
  problems: ["unknown_task", "task_settled", "submission_running", "not_cancelable"],
} as const satisfies RouteDescription;

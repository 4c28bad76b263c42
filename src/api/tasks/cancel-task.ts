import * as z from "zod/mini";
import { SECOND_MS } from "../../core/time.ts";
import type { Caller } from "../../objects/task/caller.ts";
import type { TaskReply } from "../../objects/task/reply.ts";
import { taskAnswer } from "../http/answer.ts";
import { NoFields } from "../http/fields.ts";
import { Problem, unknownTask } from "../http/problem.ts";
import { Flag } from "../http/query.ts";
import { routeOf } from "../http/route.ts";
import { type Call, operation } from "../operation.ts";
import { readingBy } from "./reading.ts";
import { accepted, taskClient } from "./task-client.ts";
import { readWhen } from "./task-watch.ts";

/** Longest time in milliseconds that the answer waits for the outcome of the cancellation at the upstream. */
const OUTCOME_WAIT_MS = 5 * SECOND_MS;

/** States of an order whose outcome may follow soon: the upstream is asked, or its job is polled after the answer. */
const OPEN_STATES: readonly TaskReply["cancellation"][] = ["asking", "accepted", "ended"];

/** Query of a cancellation. With `force` the task fails whatever becomes of its job. */
const CancelQuery = z.strictObject({ force: Flag });

/** Effect of an order to cancel a task. */
export interface CancelOutcome {
  readonly task: TaskReply;
  /** True when the task has failed. False while it goes on, because the upstream has not confirmed the cancellation. */
  readonly isCanceled: boolean;
}

/**
 * Cancels an open task. Where the relay can cancel its job, the upstream is asked first, and the task fails with the
 * code `canceled` when it has confirmed; otherwise it fails at once. The result of a job that has ended meanwhile
 * counts.
 */
export const cancelTask = operation(
  "cancelTask",
  {
    access: "cancel",
    rateLimit: "LIMIT_LISTS",
    params: ["id"],
    query: CancelQuery,
    body: NoFields,
  },
  async (call): Promise<CancelOutcome> => {
    const { env, caller, params, query } = call;
    const event = eventOf(caller, query.force);
    const { task } = accepted(await taskClient(env, params.id).apply(event, caller));
    return task.isTerminal ? { task, isCanceled: true } : outcomeOf(await awaited(call));
  },
);

/**
 * Returns the event of an order to cancel a task.
 * @throws Problem `forbidden` when another caller than the operator wants to use force.
 */
function eventOf({ kind }: Caller, isForced: boolean) {
  if (kind === "operator") return { type: "cancel", isForced } as const;
  if (!isForced) return { type: "cancel_submitted" } as const;
  throw new Problem("forbidden", { detail: "Only an operator can cancel with force." });
}

/** Reads the task until the outcome of its cancellation is known, for a short time. */
async function awaited(call: Call<"id", unknown, unknown>): Promise<TaskReply> {
  const reading = { ...readingBy(call), stateIn: (task: TaskReply) => task };
  const task = await readWhen(reading, isOutcomeKnown, OUTCOME_WAIT_MS);
  if (task === null) throw unknownTask();
  return task;
}

function isOutcomeKnown({ isTerminal, cancellation }: TaskReply): boolean {
  return isTerminal || !OPEN_STATES.includes(cancellation);
}

/**
 * Returns the effect of an order to cancel, by the task as it was read last.
 * @throws Problem `task_settled` when the task has ended, but not because its job was canceled.
 */
function outcomeOf(task: TaskReply): CancelOutcome {
  const isCanceled = task.isTerminal && task.cancellation === "confirmed";
  if (!task.isTerminal || isCanceled) return { task, isCanceled };
  const detail = "The job had ended before it could be canceled. The member task has its result.";
  throw new Problem("task_settled", { detail, taskJson: task.json });
}

export const cancelTaskRoute = routeOf(
  { method: "POST", path: "/v1/tasks/{id}/cancel" },
  cancelTask,
  ({ task, isCanceled }) => taskAnswer(task, isCanceled ? 200 : 202),
);

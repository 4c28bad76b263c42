import * as z from "zod/mini";
import { SECOND_MS } from "../../core/time.ts";
import type { Caller } from "../../objects/task/caller.ts";
import { cancelEventOf } from "../../objects/task/outside-event.ts";
import type { TaskReply } from "../../objects/task/reply.ts";
import { taskAnswer } from "../http/answer.ts";
import { NoFields } from "../http/fields.ts";
import { Problem, unknownTask } from "../http/problem.ts";
import { Flag } from "../http/query.ts";
import { routeOf } from "../http/route.ts";
import { operation } from "../operation.ts";
import { type Reading, readingBy } from "./reading.ts";
import { accepted, taskClient } from "./task-client.ts";
import { readWhen } from "./task-watch.ts";

/** Longest time in milliseconds that the response to a cancellation waits for the upstream's decision. */
const OUTCOME_WAIT_MS = 5 * SECOND_MS;

/**
 * States of a cancellation that may change soon: the upstream is being asked, or has responded and the job is being
 * polled.
 */
const OPEN_STATES: readonly TaskReply["cancellation"][] = ["asking", "accepted", "ended"];

/** Query of a cancellation. With `force` the task fails at once, whatever happens to its job. */
const CancelQuery = z.strictObject({ force: Flag });

/** Effect of a request to cancel a task. */
export interface CancelOutcome {
  readonly task: TaskReply;
  /**
   * True when the task has failed. False when the task goes on, because the upstream has not confirmed the
   * cancellation.
   */
  readonly isCanceled: boolean;
}

/**
 * Cancels an open task. If the relay can cancel its job, the upstream is asked first, and the task fails with the code
 * `canceled` once the upstream has confirmed; otherwise the task fails at once. If the job turns out to have ended
 * already, its result counts.
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
    if (query.force) requireOperator(caller);
    const event = cancelEventOf(caller, query.force);
    const { task } = accepted(await taskClient(env, params.id).apply(event, caller));
    if (task.isTerminal) return { task, isCanceled: true };
    return outcomeOf(await cancellationKnown(readingBy(call)));
  },
);

function requireOperator({ kind }: Caller): void {
  if (kind === "operator") return;
  throw new Problem("forbidden", { detail: "Only an operator can cancel with force." });
}

/** Waits at most 5 seconds until the outcome of a cancellation is known, and returns the task. */
export async function cancellationKnown(reading: Reading): Promise<TaskReply> {
  const watched = { ...reading, stateIn: (task: TaskReply) => task };
  const task = await readWhen(watched, isOutcomeKnown, OUTCOME_WAIT_MS);
  if (task === null) throw unknownTask();
  return task;
}

function isOutcomeKnown({ isTerminal, cancellation }: TaskReply): boolean {
  return isTerminal || !OPEN_STATES.includes(cancellation);
}

/**
 * Returns the effect of a request to cancel a task, judging by the state of the task after the wait for the upstream.
 * @throws Problem `task_settled` when the task has ended for any reason but the cancellation.
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

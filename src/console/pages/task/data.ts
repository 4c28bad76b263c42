import { inspectTask } from "../../../api/tasks/read-task.ts";
import { taskIn } from "../../../api/tasks/task-json.ts";
import { readWhen, TaskWatch } from "../../../api/tasks/task-watch.ts";
import { readerOf } from "../../../objects/task/caller.ts";
import { unknownTask } from "../../../api/http/problem.ts";
import { TaskId } from "../../../api/http/fields.ts";
import type { CallbackFacts, TaskFacts } from "../../../core/views/task-facts.ts";
import { Problem } from "../../../api/http/problem.ts";
import type { ViewerVisit } from "../../page.ts";
import type { Task } from "../../../api/shapes/task-shape.ts";

/** A task with everything that its page shows, e.g. the times of its attempts. */
export interface ShownTask {
  readonly task: Task;
  readonly facts: TaskFacts;
  readonly version: number;
}

export type TaskVisit = ViewerVisit<{ readonly id: string }>;

/** Longest time for which the answer to a refresh waits for a change, in milliseconds. */
const LONGEST_HOLD_MS = 55_000;
const SOON_MS = 5_000;

/**
 * Reads the task of a page. A refresh names the version that the page shows, and is answered when the task has
 * changed, or after 55 seconds.
 * @throws Problem `unknown_task`, also for a task of another account.
 */
export async function readShownTask(visit: TaskVisit): Promise<ShownTask> {
  const { request, params, viewer } = visit;
  const known = Number(request.headers.get("X-Refresh") ?? Number.NaN);
  const inspected = await readWhen(
    {
      read: () => inspectTask.perform({ params }, viewer, visit),
      watch: () => TaskWatch.open(visit.env, taskIdOf(params.id), readerOf(viewer)),
      requireCurrent: async () => visit.requireCurrent?.(),
      stateIn: ({ task }) => task,
    },
    ({ task, facts }) => task.version !== known || !isAboutToChange(facts, Date.now()),
    Number.isNaN(known) ? 0 : LONGEST_HOLD_MS,
  );
  if (inspected === null) throw unknownTask();
  const { task, facts } = inspected;
  return { task: taskIn(task), facts, version: task.version };
}

/**
 * Tells whether a refresh of the page waits for a change: the task is open, or its next callback attempt is near.
 * While an attempt runs, the page is refreshed every second instead.
 */
function isAboutToChange({ finishedAt, callback }: TaskFacts, now: number): boolean {
  if (callback === null) return finishedAt === null;
  return callback.nextAttemptAt !== null && callback.nextAttemptAt - now < SOON_MS;
}

/** Checks the task id in a path. @throws Problem `unknown_task`. */
export function taskIdOf(param: string): string {
  const id = TaskId.safeParse(param);
  if (!id.success) throw unknownTask();
  return id.data;
}

/** Returns the callback of a task. @throws Problem `no_callback` or `task_open` while there is none. */
export function callbackOf({ task, facts }: ShownTask): CallbackFacts {
  if (facts.callback !== null) return facts.callback;
  const code = task.callback === null ? "no_callback" : "task_open";
  throw new Problem(code, { detail: "No callback of this task has been sent yet." });
}

import { TaskId } from "../../api/http/fields.ts";
import { unknownTask } from "../../api/http/problem.ts";
import { Problem } from "../../api/http/problem.ts";
import type { Task } from "../../api/shapes/task-shape.ts";
import { inspectTask } from "../../api/tasks/read-task.ts";
import { taskIn } from "../../api/tasks/task-json.ts";
import { readWhen, TaskWatch, type Watched } from "../../api/tasks/task-watch.ts";
import type { TaskReader } from "../../core/views/reader.ts";
import type { CallbackFacts, TaskFacts } from "../../core/views/task-facts.ts";
import { readerOf } from "../../objects/task/caller.ts";
import { type InspectedTask, stateOf } from "../../objects/task/reply.ts";
import type { ViewerVisit } from "../http/page.ts";
import { shownBefore } from "../http/refresh-request.ts";

/** A task with all data that its page shows, e.g. the times of its attempts. */
export interface ShownTask {
  readonly task: Task;
  readonly facts: TaskFacts;
  /** Text that changes with everything that the viewer sees of the task, including its progress. */
  readonly state: string;
}

export type TaskVisit = ViewerVisit<{ readonly id: string }>;

/** Longest time in milliseconds for which the response to a refresh waits for a change of the task. */
const LONGEST_HOLD_MS = 55_000;
const SOON_MS = 5_000;

/**
 * Reads the task for its page. A refresh of an open page states which state of the task the page shows. While the task
 * is open, or its next callback attempt is less than 5 seconds away, the refresh is answered when the task has changed,
 * at the latest after 55 seconds; otherwise at once.
 * @throws Problem `unknown_task` when there is no such task, or when it belongs to another account.
 */
export async function readShownTask(visit: TaskVisit): Promise<ShownTask> {
  const { request, params } = visit;
  const known = shownBefore(request);
  const inspected = await readWhen(
    watchedBy(visit, params.id),
    ({ task, facts }) => stateOf(task) !== known || !isAboutToChange(facts, Date.now()),
    known === null ? 0 : LONGEST_HOLD_MS,
  );
  if (inspected === null) throw unknownTask();
  const { task, facts } = inspected;
  return { task: taskIn(task), facts, state: stateOf(task) };
}

/**
 * Returns the functions that read a task, and report the task's changes, for the viewer of a page.
 * @param reader kind of reader (operator, account or status link), which decides whether progress counts as a change.
 */
export function watchedBy(
  visit: ViewerVisit,
  id: string,
  reader: TaskReader = readerOf(visit.viewer),
): Watched<InspectedTask> {
  const { env, viewer, requireCurrent } = visit;
  let isFirst = true;
  return {
    read: async () => {
      // The login was checked just before the first read.
      if (!isFirst) await requireCurrent();
      isFirst = false;
      return inspectTask.perform({ params: { id } }, viewer, visit);
    },
    watch: () => TaskWatch.open(env, taskIdOf(id), reader),
    requireCurrent,
    stateIn: ({ task }) => task,
  };
}

/**
 * Tells whether a refresh of the page waits for a change: while the task is open, and when its next callback attempt is
 * near. While an attempt runs, a refresh does not wait, but the page is refreshed every second.
 */
function isAboutToChange({ finishedAt, callback }: TaskFacts, now: number): boolean {
  if (callback === null) return finishedAt === null;
  return callback.nextAttemptAt !== null && callback.nextAttemptAt - now < SOON_MS;
}

/** Checks the task id in a path, and returns it. @throws Problem `unknown_task` when the text is not a task id. */
export function taskIdOf(param: string): string {
  const id = TaskId.safeParse(param);
  if (!id.success) throw unknownTask();
  return id.data;
}

/**
 * Returns the callback of a task.
 * @throws Problem `no_callback` when the task has no `callback_url`; `task_open` when it has no result yet.
 */
export function callbackOf({ task, facts }: ShownTask): CallbackFacts {
  if (facts.callback !== null) return facts.callback;
  const code = task.callback === null ? "no_callback" : "task_open";
  throw new Problem(code, { detail: "No callback of this task has been sent yet." });
}

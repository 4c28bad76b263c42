import pMap from "p-map";
import type { TaskSummary } from "../../api/search/list-tasks.ts";
import type { TaskAttempt } from "../../api/shapes/task-shape.ts";
import { inspectTask } from "../../api/tasks/read-task.ts";
import { taskIn } from "../../api/tasks/task-json.ts";
import type { AttemptFacts, CallbackFacts } from "../../core/views/task-facts.ts";
import type { ViewerVisit } from "../http/page.ts";

/** Largest number of objects of tasks that are asked at the same time. */
const CONCURRENCY = 10;

/** An attempt of the callback of a task, with what a reader may see of the receiver's answer. */
export interface ListedAttempt {
  readonly task: string;
  readonly model: string;
  readonly callback: CallbackFacts;
  readonly facts: AttemptFacts;
  /** The attempt as the API shows it. Undefined for one whose record has been shortened meanwhile. */
  readonly shown: TaskAttempt | undefined;
}

/**
 * Reads the attempts of the callbacks of tasks, the latest first. The index has only the last outcome of each task, so
 * the attempts come from the objects of the tasks, which keep the last 20 of each. A task that no longer exists, or whose
 * callback has not been tried, has none.
 */
export async function attemptsOf(
  tasks: readonly TaskSummary[],
  visit: ViewerVisit,
): Promise<readonly ListedAttempt[]> {
  const tried = tasks.filter(({ callback }) => callback !== null && callback.attempts > 0);
  const attempts = await pMap(tried, async ({ id }) => await attemptsOfTask(id, visit), {
    concurrency: CONCURRENCY,
  });
  return attempts.flat().toSorted((a, b) => b.facts.startedAt - a.facts.startedAt);
}

/** Reads the attempts of the callback of one task, the first one first. */
export async function attemptsOfTask(
  id: string,
  visit: ViewerVisit,
): Promise<readonly ListedAttempt[]> {
  const found = await inspectTask.perform({ params: { id } }, visit.viewer, visit);
  const callback = found?.facts.callback ?? null;
  if (found === null || callback === null) return [];
  const task = taskIn(found.task);
  return callback.attempts.map((facts) => ({
    task: id,
    model: task.model,
    callback,
    facts,
    shown: task.callback?.attempts.find(({ number }) => number === facts.number),
  }));
}

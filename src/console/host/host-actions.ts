import { countRedeliveries } from "../../api/search/bulk-redelivery.ts";
import { redeliverTask } from "../../api/tasks/redeliver-task.ts";
import { inspectTask } from "../../api/tasks/read-task.ts";
import { taskIn } from "../../api/tasks/task-json.ts";
import type { TaskCallback } from "../../api/shapes/task-shape.ts";
import { type Tested, testCallback } from "../../api/test-callback.ts";
import { SECOND_MS } from "../../core/time.ts";
import type { FormVisit, ViewerVisit } from "../http/page.ts";
import { MAX_COUNTED } from "../bulk-redelivery/bulk-redelivery-state.ts";

/** Longest time in milliseconds for which a page waits until the attempt that its form has ordered ends. */
const WAIT_MS = 3 * SECOND_MS;
const PAUSE_MS = 150;

/** Sends a test callback to a URL, as `POST /v1/callbacks/test` does, and returns its outcome. */
export async function testUrl(visit: FormVisit<object>, callbackUrl: string): Promise<Tested> {
  const body = { callback_url: callbackUrl };
  return testCallback.perform({ params: {}, body }, visit.viewer, visit);
}

/**
 * Reads the callback of a task from the task's Durable Object. Null means that the task is gone or has no callback.
 */
export async function callbackOf(
  id: string,
  visit: ViewerVisit<object>,
): Promise<TaskCallback | null> {
  const found = await inspectTask.perform({ params: { id } }, visit.viewer, visit);
  return found === null ? null : taskIn(found.task).callback;
}

/**
 * Orders one more attempt of the callback of a task, and waits up to 3 seconds until the attempt ends.
 * @throws Problem when the task refuses the order, e.g. `series_running` while attempts are under way.
 */
export async function redeliverOnce(
  id: string,
  visit: FormVisit<object>,
  idempotencyKey: string,
): Promise<TaskCallback | null> {
  const given = { params: { id }, body: { attempts: 1 }, idempotencyKey };
  await redeliverTask.perform(given, visit.viewer, visit);
  let callback = await callbackOf(id, visit);
  for (
    let waitedMs = 0;
    waitedMs < WAIT_MS && callback?.status === "sending";
    waitedMs += PAUSE_MS
  ) {
    await scheduler.wait(PAUSE_MS);
    callback = await callbackOf(id, visit);
  }
  return callback;
}

/** Returns how many failed callbacks to a host a bulk redelivery would send, and how many it would skip. */
export async function countFailed(host: string, visit: ViewerVisit<object>) {
  const query = { callback: "failed", host, limit: String(MAX_COUNTED) };
  return countRedeliveries.perform({ params: {}, query }, visit.viewer, visit);
}

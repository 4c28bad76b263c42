import { readWhen } from "../../api/tasks/task-watch.ts";
import { Problem } from "../../api/http/problem.ts";
import { taskIn } from "../../api/tasks/task-json.ts";
import { SECOND_MS } from "../../core/time.ts";
import type { ListedTask } from "../../index-db/list.ts";
import type { ViewerVisit } from "../http/page.ts";
import { watchedBy } from "../task/task-data.ts";

/** The open task that the overview of an account watches: its present state, which the index may not have yet. */
export interface WatchedTask extends Pick<ListedTask, "id" | "status" | "callback"> {
  readonly version: number;
}

/** Longest time in milliseconds for which the answer to a refresh is delayed until the watched task changes. */
const LONGEST_HOLD_MS = 25 * SECOND_MS;
/** State of a task in the header of a refresh: its id and the version that the page shows. */
const SHOWN = /^([0-9a-f-]{36})\.(\d{1,15})$/;

/**
 * Delays the answer to a refresh of the overview until the task that the page watches differs from what the page
 * shows, at most 25 seconds. A browser that hides the page breaks the request off. One task is watched for each open
 * page, because each costs requests to an object.
 * @returns the task; null when the page watches none, or the viewer may no longer read it, or its object
 * cannot be reached.
 */
export async function awaitWatchedTask(visit: ViewerVisit): Promise<WatchedTask | null> {
  const [, id = "", version] = SHOWN.exec(visit.request.headers.get("X-Refresh") ?? "") ?? [];
  return id === "" ? null : readWatched(visit, id, Number(version), LONGEST_HOLD_MS);
}

/**
 * Returns the task for the overview to watch: the newest that is open by the index.
 * @param held task that has been read for this answer already; null for none.
 */
export async function newestOpenTask(
  tasks: readonly ListedTask[],
  held: WatchedTask | null,
  visit: ViewerVisit,
): Promise<WatchedTask | null> {
  const open = tasks.find(({ status }) => status === "pending" || status === "processing");
  if (open === undefined || open.id === held?.id) return open === undefined ? null : held;
  return readWatched(visit, open.id, null, 0);
}

/** Returns null for a task whose object cannot be reached: the page shows what the index has. */
function orNull(error: unknown): null {
  if (error instanceof Problem && error.code === "unavailable") return null;
  throw error;
}

async function readWatched(
  visit: ViewerVisit,
  id: string,
  known: number | null,
  waitMs: number,
): Promise<WatchedTask | null> {
  const isNews = ({ task }: { readonly task: { readonly version: number } }) =>
    task.version !== known;
  // The overview shows no progress, as little as a status link does.
  const found = await readWhen(watchedBy(visit, id, "link"), isNews, waitMs).catch(orNull);
  if (found === null) return null;
  const { status, callback } = taskIn(found.task);
  return { id, status, callback: callback?.status ?? null, version: found.task.version };
}

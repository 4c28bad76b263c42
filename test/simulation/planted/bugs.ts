import { join } from "node:path";
import { bugsIn } from "../../planted/bug-list.ts";

/** The bugs in the core that simulated lives of tasks must find. */
export const BUGS = bugsIn(join(import.meta.dirname, "bugs.txt"));

/** The bugs in queues, in calls that wait in them, and in what tasks know of both. */
export const QUEUE_BUGS = bugsIn(join(import.meta.dirname, "../queues/planted/bugs.txt"));

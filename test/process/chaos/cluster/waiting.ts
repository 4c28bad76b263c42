import { setTimeout as sleep } from "node:timers/promises";
import { withDeadline } from "../../../../src/lib/timeout.ts";
import { Client } from "../../harness/client.ts";
import { resultOf } from "../caller.ts";
import type { TaskPlan } from "../callbacks/plan.ts";
import type { TaskHistory, World } from "../callbacks/task-history.ts";
import { runTask } from "../callbacks/task-run.ts";
import type { Counters } from "../counters.ts";

const WAIT_S = 10;
const ANSWER_WITHIN_MS = 15_000;
const REPEAT_AFTER_MS = 250;
/** Time in milliseconds after the run of a task after which a client no longer waits for the end. */
const GIVE_UP_AFTER_MS = 240_000;

/** The end of a task, and since when its client had waited for this answer, in Unix milliseconds. */
interface SeenEnd {
  readonly result: string;
  readonly askedAt: number;
}

/**
 * Runs a task as planned, while a client waits for its end with `?wait`. What the client sees counts as shown by the relay;
 * an end that it never sees is a fault.
 * @param url where the client reads.
 */
export async function runWaitedFor(
  world: World,
  plan: TaskPlan,
  url: string,
  counters: Counters,
): Promise<TaskHistory> {
  if (plan.isNamedByKey || plan.isErased || plan.ending === null) return runTask(world, plan);
  let giveUpAt = Infinity;
  const running = runTask(world, plan).then((history) => {
    giveUpAt = history.state === "created" ? Date.now() + GIVE_UP_AFTER_MS : 0;
    return history;
  });
  const seeing = seenEnd(new Client({ url }), plan.id, () => Date.now() > giveUpAt);
  const [history, end] = await Promise.all([running, seeing]);
  if (history.state !== "created") return history;
  if (end === null) history.faults.push("a client that waited never saw the end");
  else history.shown.add(end.result);
  const isUnderWay = end !== null && history.endedAt !== null && end.askedAt < history.endedAt;
  counters.add("ends that waiting clients saw", end === null ? 0 : 1);
  counters.add("waits that an end has answered", isUnderWay ? 1 : 0);
  return history;
}

/** Waits for the end of a task with request after request. @returns null when there was none before it gave up. */
async function seenEnd(client: Client, id: string, isOver: () => boolean): Promise<SeenEnd | null> {
  while (!isOver()) {
    const askedAt = Date.now();
    const result = await waitOnce(client, id).catch(() => null);
    if (result !== null) return { result, askedAt };
    await sleep(REPEAT_AFTER_MS);
  }
  return null;
}

/** Returns the result that an answer shows; null when it shows none. */
function waitOnce(client: Client, id: string): Promise<string | null> {
  return withDeadline(ANSWER_WITHIN_MS, async (signal) => {
    const path = `/v1/tasks/${id}?wait=${WAIT_S}`;
    const response = await client.send("GET", path, undefined, { signal });
    const body: unknown = await response.json();
    return response.status === 200 ? resultOf(body) : null;
  });
}

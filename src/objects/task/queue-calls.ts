import pMap from "p-map";
import type { QueueLeave } from "../../core/duties/queue-leave.ts";
import type { QueuePosition } from "../../core/record/queue-stay.ts";
import { SECOND_MS } from "../../core/time.ts";
import { withinTime, withTimeout } from "../../lib/timeout.ts";
import { type ObjectNamespaces, queueObject, submittedCallObject } from "../object-names.ts";

/** Time limit in milliseconds for the question for the position of a submission, for which a reader waits. */
const POSITION_TIMEOUT_MS = 300;
/** Time limit in milliseconds for telling a kept call of a change. */
const TELL_TIMEOUT_MS = 2 * SECOND_MS;

/**
 * Tells the queues of connections that a submission leaves them: all at once, so that a queue that fails or hangs keeps
 * no other from hearing of it.
 * @returns true when all have confirmed it in time.
 * @throws AggregateError when a queue fails.
 */
export function leaveQueues(
  env: ObjectNamespaces,
  { connections, submissionId, ranAt }: QueueLeave,
  timeoutMs: number,
): Promise<boolean> {
  const leave = async (name: string) =>
    await queueObject(env, name).leave(submissionId, Infinity, name === ranAt);
  const call = async () => {
    await pMap(connections, leave, { stopOnError: false });
    return true;
  };
  return withinTime(call, false, timeoutMs);
}

/** Tells the object of a kept call that its task has changed. When this fails, the object asks the task by itself later. */
export async function tellKeptCall(env: ObjectNamespaces, submissionId: string): Promise<void> {
  const tell = async () => await submittedCallObject(env, submissionId).follow();
  await withTimeout<boolean>("kept call", tell, false, TELL_TIMEOUT_MS);
}

/**
 * Returns the best position of a submission in the queues of connections. The cause is `no_place` if it is that in one of
 * them. Null when the submission waits in none, and when no queue answers in time.
 */
export async function positionIn(
  env: ObjectNamespaces,
  connections: readonly string[],
  submissionId: string,
): Promise<QueuePosition | null> {
  const ask = (name: string) =>
    withinTime<QueuePosition | null>(
      async () => await queueObject(env, name).position(submissionId),
      null,
      POSITION_TIMEOUT_MS,
    ).catch(() => null);
  const positions = await Promise.all(connections.map(ask));
  const known = positions.filter((position) => position !== null);
  if (known.length === 0) return null;
  const isForPlace = known.some(({ cause }) => cause === "no_place");
  const position = Math.min(...known.map((each) => each.position));
  return { position, cause: isForPlace ? "no_place" : "upstream_refused" };
}

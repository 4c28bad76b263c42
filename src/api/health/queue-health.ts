import type { Config } from "../../config/config.ts";
import { SECOND_MS, toSeconds } from "../../core/time.ts";
import type { Env } from "../../env.ts";
import { withTimeout } from "../../lib/timeout.ts";
import { queueObject } from "../../objects/object-names.ts";
import type { QueueState } from "../../objects/queue/job-queue.ts";
import { type Connection, queuesOf } from "../../providers/provider.ts";
import { NoBody, NoQuery, operation } from "../operation.ts";

/** Time limit in milliseconds for the state of a queue; a queue that takes longer is left out. */
const TIMEOUT_MS = 2 * SECOND_MS;

/** A connection whose jobs wait for places, with the present state of its queue. */
export interface ConnectionQueue {
  readonly connection: Connection;
  readonly state: QueueState;
}

/** Reads the queues of all connections with the accounts that wait there. Only the console uses this operation. */
export const readQueues = operation(
  "readQueues",
  { access: "inspect", query: NoQuery, body: NoBody },
  async ({ env, runtime: { config } }) => await queuesIn(config, env),
);

/** Returns the queues of the connections with a limit, and of the members of pools, as far as they answer in time. */
export async function queuesIn(
  { connections }: Pick<Config, "connections">,
  env: Env,
): Promise<readonly ConnectionQueue[]> {
  const queued = new Set([...connections.values()].flatMap((connection) => queuesOf(connection)));
  const asked = Array.from(queued, async (connection) => {
    const ask = async () => await queueObject(env, connection.name).state();
    const state = await withTimeout<QueueState | null>("queue", ask, null, TIMEOUT_MS);
    return state === null ? [] : [{ connection, state }];
  });
  return (await Promise.all(asked)).flat();
}

/** Returns the state of a queue as `/healthz` shows it, without the accounts. Times are Unix seconds. */
export function placesView({
  held,
  waiting,
  oldestSince,
  waitMs,
  coolUntil,
  outUntil,
}: QueueState) {
  return {
    held,
    waiting,
    ...(oldestSince !== null && { oldest_since: toSeconds(oldestSince) }),
    ...(waitMs !== null && { wait_ms: waitMs }),
    ...(coolUntil !== null && { cool_until: toSeconds(coolUntil) }),
    ...(outUntil !== null && { out_until: toSeconds(outUntil) }),
  };
}

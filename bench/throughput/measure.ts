import { randomUUID } from "node:crypto";
import pMap from "p-map";
import {
  BUSY,
  type ContenderKey,
  contendersOf,
  type Place,
  type PlannedLoad,
  plannedRounds,
} from "./plan.ts";
import type { Receiver } from "./receiver.ts";
import type { InRound, PlaceResult, ReadSeries, Series } from "./results.ts";
import { readRound } from "./read-round.ts";
import { taskRound } from "./round.ts";
import type { Ask, Served } from "./server.ts";
import type { Servers } from "./servers.ts";
import { bareRead, relayRead } from "./tasks.ts";

/**
 * Time in milliseconds for which each server gets tasks before it is measured, so that its code is compiled. That of
 * the relay is larger than that of a floor, and an isolate compiles it once.
 */
const WARM_UP_MS = 6_000;
/** Number of finished tasks that are read one after the other, again and again. */
const READ_TASKS = 200;

/** Returns the time in milliseconds for which the next turn sends tasks. */
type NextMs = () => number;

/**
 * Measures all servers of a place in rounds. In each round of a load every server is measured once, and each round
 * begins with another server.
 */
export async function measurePlace(
  place: Place,
  servers: Servers,
  receiver: Receiver,
  nextMs: NextMs,
): Promise<PlaceResult> {
  for (const server of servers.values()) {
    await taskRound(server, receiver, { connections: BUSY, forMs: WARM_UP_MS });
  }
  const series: Series[] = [];
  const reads: ReadSeries[] = [];
  for (const load of place.loads) {
    if (load.kind === "reads") reads.push(...(await measureReads(load, servers, receiver, nextMs)));
    else series.push(...(await measureTasks(load, servers, receiver, nextMs)));
  }
  return { place, series, reads };
}

async function measureTasks(
  load: PlannedLoad,
  servers: Servers,
  receiver: Receiver,
  nextMs: NextMs,
): Promise<readonly Series[]> {
  const { connections } = load;
  const measured = await inRounds(load, (contender) =>
    taskRound(serverOf(servers, contender), receiver, { connections, forMs: nextMs() }),
  );
  return measured.map(([contender, each]) => ({ contender, connections, rounds: each }));
}

async function measureReads(
  load: PlannedLoad,
  servers: Servers,
  receiver: Receiver,
  nextMs: NextMs,
): Promise<readonly ReadSeries[]> {
  const asks = new Map<ContenderKey, readonly Ask[]>();
  for (const contender of contendersOf({ loads: [load] })) {
    const ids = await finishedTasks(serverOf(servers, contender), receiver);
    asks.set(contender, ids.map(contender === "floor" ? bareRead : relayRead));
  }
  const { connections } = load;
  const measured = await inRounds(load, (contender) =>
    readRound(serverOf(servers, contender), asks.get(contender) ?? [], {
      connections,
      forMs: nextMs(),
    }),
  );
  return measured.map(([contender, each]) => ({ contender, rounds: each }));
}

/** Reports tasks and waits until their callbacks have arrived. @returns their ids. */
async function finishedTasks(server: Served, receiver: Receiver): Promise<readonly string[]> {
  const ids = Array.from({ length: READ_TASKS }, () => randomUUID());
  receiver.reset();
  const finish = async (id: string) => {
    for (const { method, path, headers, body } of server.tasks(id, receiver.expect(id))) {
      const answer = await fetch(server.url + path, { method, headers, body });
      await answer.arrayBuffer();
    }
  };
  await pMap(ids, finish, { concurrency: BUSY });
  await receiver.fewerThan(1, performance.now() + 10_000);
  return ids;
}

async function inRounds<Result>(
  load: PlannedLoad,
  measure: (key: ContenderKey) => Promise<Result>,
): Promise<readonly (readonly [ContenderKey, readonly InRound<Result>[]])[]> {
  const keys = contendersOf({ loads: [load] });
  const results = new Map<ContenderKey, InRound<Result>[]>(keys.map((key) => [key, []]));
  for (const [number, measured] of plannedRounds(load).entries()) {
    for (const key of measured) results.get(key)?.push({ ...(await measure(key)), number });
  }
  return [...results];
}

function serverOf(servers: Servers, contender: ContenderKey): Served {
  const server = servers.get(contender);
  if (server === undefined) throw new Error(`${contender} is not running`);
  return server;
}

import { randomUUID } from "node:crypto";
import pMap from "p-map";
import { BUSY, type ContenderKey, type Place, rotated } from "./plan.ts";
import type { Receiver } from "./receiver.ts";
import type { PlaceResult, ReadSeries, Series } from "./results.ts";
import { type ReadRound, readRound } from "./read-round.ts";
import { type Round, taskRound } from "./round.ts";
import type { Ask, Served } from "./server.ts";
import type { Servers } from "./servers.ts";
import { bareRead, relayRead } from "./tasks.ts";

/** Number of finished tasks that are read one after the other, again and again. */
const READ_TASKS = 200;
const READERS = ["floor", "event"] as const;

interface Turns {
  readonly rounds: number;
  /** Returns the time in milliseconds for which the next turn sends tasks. */
  readonly nextMs: () => number;
}

/**
 * Measures all servers of a place in rounds. In each round every server is measured once, and each round
 * begins with another server.
 */
export async function measurePlace(
  place: Place,
  servers: Servers,
  receiver: Receiver,
  turns: Turns,
): Promise<PlaceResult> {
  const { nextMs } = turns;
  for (const server of servers.values()) {
    await taskRound(server, receiver, { connections: BUSY, forMs: nextMs() });
  }
  const series: Series[] = [];
  for (const connections of place.connections) {
    const measured = await inTurns([...servers.keys()], turns.rounds, (contender) =>
      taskRound(serverOf(servers, contender), receiver, { connections, forMs: nextMs() }),
    );
    series.push(...measured.map(([contender, rounds]) => ({ contender, connections, rounds })));
  }
  const reads = place.hasReads ? await measureReads(servers, receiver, turns) : [];
  return { place, series, reads };
}

async function measureReads(
  servers: Servers,
  receiver: Receiver,
  { rounds, nextMs }: Turns,
): Promise<readonly ReadSeries[]> {
  const asks = new Map<string, readonly Ask[]>();
  for (const reader of READERS) {
    const ids = await finishedTasks(serverOf(servers, reader), receiver);
    asks.set(reader, ids.map(reader === "floor" ? bareRead : relayRead));
  }
  const measured = await inTurns<(typeof READERS)[number], ReadRound>(READERS, rounds, (reader) =>
    readRound(serverOf(servers, reader), asks.get(reader) ?? [], {
      connections: BUSY,
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

async function inTurns<Key, Result = Round>(
  keys: readonly Key[],
  rounds: number,
  measure: (key: Key) => Promise<Result>,
): Promise<readonly (readonly [Key, readonly Result[]])[]> {
  const results = new Map<Key, Result[]>(keys.map((key) => [key, []]));
  for (let round = 0; round < rounds; round++) {
    for (const key of rotated(keys, round)) results.get(key)?.push(await measure(key));
  }
  return [...results];
}

function serverOf(servers: Servers, contender: ContenderKey): Served {
  const server = servers.get(contender);
  if (server === undefined) throw new Error(`${contender} is not running`);
  return server;
}

import { setTimeout as sleep } from "node:timers/promises";
import type { Counters } from "./counters.ts";

/** The relay under load, as it is killed and restarted. */
interface Killed {
  readonly relay: {
    readonly kill9: () => Promise<void>;
    readonly restart: () => Promise<void>;
  };
  readonly counters: Counters;
  /** Waits for the moment of the next kill. */
  readonly moment: (nth: number) => Promise<void>;
  /** Tells before each kill whether there were enough. */
  readonly isEnough: (kills: number) => boolean;
}

/** Kills the relay with `kill -9` and restarts it, again and again. */
export async function killAgainAndAgain(killed: Killed): Promise<void> {
  const { relay, counters, moment, isEnough } = killed;
  for (let kills = 0; !isEnough(kills); kills++) {
    await moment(kills);
    await relay.kill9();
    counters.add("kills");
    await relay.restart();
  }
}

/** Tells that there were enough kills when so many have followed the end of the load. */
export function afterwards(isOver: () => boolean, count: number): () => boolean {
  let left = count;
  return () => {
    if (left === 0) return true;
    if (isOver()) left--;
    return false;
  };
}

/** Lets the relay work for a random time, short ones more often than long ones. */
export async function upFor(random: () => number, minMs: number, maxMs: number): Promise<void> {
  await sleep(minMs + random() ** 2 * (maxMs - minMs));
}

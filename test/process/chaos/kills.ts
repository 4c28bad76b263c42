import { watch, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Caught, caughtSince } from "../harness/stored-ledger.ts";
import { bundleOf, type Workerd } from "../harness/workerd.ts";

const RELEASED = "";
export const SHORT_WATCHDOG = "short-watchdog.ts";
const MIN_UP_MS = 300;
const MAX_UP_MS = 3_000;
/** Kills after the last life has been played, so that the last attempts and refunds meet some too. */
const KILLS_AFTERWARDS = 4;
/** About what the saga takes from one of its commits to the next. */
const MAX_STEP_MS = 4;
/** About what a charge or a refund takes as a whole. */
const MAX_SAGA_MS = 40;
/** What was not written so shortly before a death was not half done. */
const CALL_MS = 400;
const WRITE_WITHIN_MS = 400;

export interface Deaths {
  readonly kills: number;
  /** Restarts with a watchdog that looks before an attempt can have ended. */
  readonly shortWatchdogs: number;
  /** What they left half done between a task and its account. */
  readonly caught: readonly Caught[];
}

/** Kills and restarts the relay at random moments until there is nothing left to disturb. */
export async function killing(
  relay: Workerd,
  random: () => number,
  isOver: () => boolean,
  nextBooking: () => Promise<void>,
): Promise<Deaths> {
  const caught: Caught[] = [];
  let kills = 0;
  let shortWatchdogs = 0;
  for (let left = KILLS_AFTERWARDS; left > 0; kills++) {
    if (isOver()) left--;
    await sleep(MIN_UP_MS + random() ** 2 * (MAX_UP_MS - MIN_UP_MS));
    const [stepMs, sagaMs] = [random() * MAX_STEP_MS, random() ** 2 * MAX_SAGA_MS];
    // At any moment, soon after an account was written, or soon after something to be booked was asked
    // for: or it would seldom meet a charge or a refund.
    if (kills % 4 === 1) await nextWrite(join(relay.storage, "accounts"), stepMs);
    if (kills % 4 > 1) {
      await Promise.race([nextBooking(), sleep(WRITE_WITHIN_MS)]);
      await sleep(sagaMs);
    }
    const killedAt = Date.now();
    await relay.kill9();
    caught.push(...caughtSince(relay.storage, killedAt - CALL_MS));
    const isShort = random() < 0.5;
    if (isShort) shortWatchdogs++;
    const { script } = await bundleOf(isShort ? SHORT_WATCHDOG : RELEASED);
    await writeFile(join(dirname(relay.storage), "index.js"), script);
    await relay.restart();
  }
  return { kills, shortWatchdogs, caught };
}

/** Until some time after the next write to a file in the directory, if there is one soon. */
async function nextWrite(directory: string, afterMs: number): Promise<void> {
  const giveUp = new AbortController();
  const timer = setTimeout(() => giveUp.abort(), WRITE_WITHIN_MS);
  try {
    for await (const _ of watch(directory, { signal: giveUp.signal })) break;
    await sleep(afterMs);
  } catch (error) {
    if (!giveUp.signal.aborted) throw error;
  } finally {
    clearTimeout(timer);
    giveUp.abort();
  }
}

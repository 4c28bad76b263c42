import { watch } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type InterruptedBooking, interruptedBookings } from "../../harness/stored-ledger.ts";
import { bundleOf, type Workerd } from "../../harness/workerd.ts";
import type { Caller } from "../caller.ts";
import type { Counters } from "../counters.ts";
import { afterwards, killAgainAndAgain, upFor } from "../kills.ts";

export const SHORT_WATCHDOG = "short-watchdog.ts";
const MIN_UP_MS = 300;
const MAX_UP_MS = 3_000;
/** Number of kills after the run of the last task, while the last attempts and refunds are made. */
const KILLS_AFTERWARDS = 4;
/** Largest delay of a kill in milliseconds, about the time from one commit of a charge to the next. */
const MAX_STEP_MS = 4;
/** Largest delay of a kill in milliseconds, about the time of a whole charge or refund. */
const MAX_BOOKING_MS = 40;
/** Time after the last write to a task's file in which a call may be under way. */
const CALL_MS = 400;
const WRITE_WITHIN_MS = 400;

/** The relay under load, as the functions see it that kill and restart it. */
export interface Load {
  readonly relay: Workerd;
  readonly caller: Caller;
  readonly random: () => number;
  readonly isOver: () => boolean;
  readonly counters: Counters;
}

/**
 * Kills the relay at random moments until the load is over; after half of the kills it starts with a short
 * watchdog delay.
 */
export async function killAtRandom(load: Load): Promise<void> {
  const { relay, random, counters, isOver } = load;
  await killAgainAndAgain({
    counters,
    isEnough: afterwards(isOver, KILLS_AFTERWARDS),
    moment: async (nth) => {
      await upFor(random, MIN_UP_MS, MAX_UP_MS);
      await momentToKill(load, nth);
    },
    relay: {
      kill9: () => kill(load),
      restart: async () => {
        const isShort = random() < 0.5;
        if (isShort) counters.add("restarts with a short watchdog");
        const { script } = await bundleOf(isShort ? SHORT_WATCHDOG : "");
        await relay.restart("kept", script);
      },
    },
  });
}

/** Kills the relay, and counts the bookings that the kill has interrupted. */
async function kill({ relay, counters }: Load): Promise<void> {
  const killedAt = Date.now();
  await relay.kill9();
  interruptedBookings(relay.storage, killedAt - CALL_MS).forEach((kind: InterruptedBooking) => {
    counters.add(`${kind}s interrupted`);
  });
}

/**
 * Waits for the moment of the next kill: in three of four cases until a write to an account or a request that
 * leads to one.
 */
async function momentToKill({ relay, random, caller }: Load, nth: number): Promise<void> {
  const [stepMs, bookingMs] = [random() * MAX_STEP_MS, random() ** 2 * MAX_BOOKING_MS];
  if (nth % 4 === 1) await nextWrite(join(relay.storage, "accounts"), stepMs);
  if (nth % 4 > 1) {
    await Promise.race([caller.nextBooking(), sleep(WRITE_WITHIN_MS)]);
    await sleep(bookingMs);
  }
}

/**
 * Waits until `afterMs` milliseconds after the next write to a file in the directory, or when none comes soon.
 */
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

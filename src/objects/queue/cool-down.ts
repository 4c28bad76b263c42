import { backoff } from "../../core/backoff.ts";
import type { RefusalClass } from "../../core/record/refusal.ts";
import { HOUR_MS, MINUTE_MS, SECOND_MS } from "../../core/time.ts";

/** A time in which no place is granted, because the upstream has refused a call. */
export interface CoolDown {
  /** Time of the refusal that began it, in Unix milliseconds. */
  readonly at: number;
  readonly until: number;
  /** Number of times in a row that such a cool-down began. */
  readonly times: number;
}

/**
 * The cool-downs of a connection, by the classes of the refusals. Null when there was none; that after `rate` or a
 * refused key also when the upstream has accepted a later call.
 */
export interface CoolDowns {
  /** After `busy`. Nobody gets a place, except one submission for each place that becomes free meanwhile. */
  readonly busy: CoolDown | null;
  /** After `rate`. Nobody gets a place. */
  readonly rate: CoolDown | null;
  /** After `funds` and `key`. No submission to a pool gets a place. */
  readonly out: CoolDown | null;
}

export const NO_COOL_DOWNS: CoolDowns = { busy: null, rate: null, out: null };

const BUSY_MS = 15 * SECOND_MS;
const FIRST_RATE_MS = SECOND_MS;
const MAX_RATE_MS = MINUTE_MS;
const FIRST_OUT_MS = 10 * MINUTE_MS;
/** Longest cool-down, in milliseconds, also when the upstream states a longer one. */
const MAX_MS = 6 * HOUR_MS;

/**
 * Returns the cool-downs after a refused call.
 * @param retryAfterMs wait that the upstream has stated. Null when it has stated none.
 */
export function afterRefusal(
  known: CoolDowns,
  refusal: RefusalClass,
  retryAfterMs: number | null,
  now: number,
): CoolDowns {
  switch (refusal) {
    case "busy":
      return { ...known, busy: { at: now, until: now + BUSY_MS, times: 1 } };
    case "rate": {
      const waitMs = (times: number) =>
        retryAfterMs ?? backoff(FIRST_RATE_MS, times - 1, MAX_RATE_MS);
      return { ...known, rate: longer(known.rate, waitMs, now) };
    }
    case "funds":
    case "key":
      return {
        ...known,
        out: longer(known.out, (times) => backoff(FIRST_OUT_MS, times - 1, MAX_MS), now),
      };
    case "final":
      return known;
  }
}

/**
 * Returns the cool-downs after the end of a job whose place was granted at `grantedAt`. The upstream has accepted a call
 * after the refusals before that time, so the next cool-down is a first one again.
 */
export function afterProof(known: CoolDowns, grantedAt: number): CoolDowns {
  const isProved = (coolDown: CoolDown | null) => coolDown !== null && coolDown.at <= grantedAt;
  if (!isProved(known.rate) && !isProved(known.out)) return known;
  return {
    busy: known.busy,
    rate: isProved(known.rate) ? null : known.rate,
    out: isProved(known.out) ? null : known.out,
  };
}

/** Returns the cool-downs after the clock was put back, of which none ends later than if it began now. */
export function anchored(known: CoolDowns, now: number): CoolDowns {
  const moved = (coolDown: CoolDown | null) =>
    coolDown === null || coolDown.at <= now
      ? coolDown
      : { ...coolDown, at: now, until: now + coolDown.until - coolDown.at };
  return { busy: moved(known.busy), rate: moved(known.rate), out: moved(known.out) };
}

/** Returns the rest of a cool-down in milliseconds; 0 when it is over or there is none. */
export function restMs(coolDown: CoolDown | null, now: number): number {
  return coolDown === null ? 0 : Math.max(coolDown.until - now, 0);
}

/**
 * Returns a cool-down that begins now. Refusals during a cool-down answer calls that were sent before it, so they only
 * make it longer.
 */
function longer(known: CoolDown | null, waitMs: (times: number) => number, now: number): CoolDown {
  const isOver = restMs(known, now) === 0;
  const times = (known?.times ?? 0) + (isOver ? 1 : 0);
  const until = now + Math.min(Math.max(waitMs(times), SECOND_MS), MAX_MS);
  return isOver || known === null
    ? { at: now, until, times }
    : { ...known, until: Math.max(known.until, until) };
}

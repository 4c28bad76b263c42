import { lookWaitMs, MAX_LOOK_MS } from "../../core/backoff.ts";
import { MINUTE_MS } from "../../core/time.ts";

/**
 * A series of alarms of one task object whose work has failed, as stored: the time of the first and of
 * the latest of them, in Unix milliseconds.
 */
interface Failing {
  readonly since: number;
  readonly lastAt: number;
}

const FAILING_KEY = "failing";

/**
 * Sets another alarm of the object after the work of one has failed, and waits until it is stored: 60 seconds after
 * the first failure of a series, then after longer and longer waits, because the cause, e.g. a wrong configuration
 * or a record that only a later release can read, may stay for days.
 * @param now time of the failed alarm, in Unix milliseconds.
 * @param jitter random number from 0 to 1.
 * @throws when the storage does not store the alarm.
 */
export async function setRecoveryAlarm(
  storage: DurableObjectStorage,
  now: number,
  jitter: number,
): Promise<void> {
  const since = failingSince(storage.kv, now);
  const waitMs = since === now ? MINUTE_MS : lookWaitMs(now - since, jitter);
  const alarmSet = storage.setAlarm(now + waitMs);
  noteFailure(storage.kv, { since, lastAt: now });
  await alarmSet;
  await storage.sync();
}

/** Stores when the series of failed alarms began. Without it, each failure counts as the first of a series. */
function noteFailure(kv: SyncKvStorage, failing: Failing): void {
  try {
    kv.put(FAILING_KEY, failing);
  } catch {
    // Storage that refuses this may still have taken the alarm.
  }
}

/**
 * Returns the time at which the present series of failed alarms began, in Unix milliseconds: the stored time;
 * or `now` when none is stored, or when the stored series ended longer ago than twice the longest wait.
 */
function failingSince(kv: SyncKvStorage, now: number): number {
  try {
    const known = kv.get<Failing>(FAILING_KEY);
    return known === undefined || now - known.lastAt > 2 * MAX_LOOK_MS ? now : known.since;
  } catch {
    // Storage that refuses to read may still set an alarm.
    return now;
  }
}

import { lookWaitMs, MAX_LOOK_MS } from "../core/backoff.ts";
import { MINUTE_MS } from "../core/time.ts";

/**
 * Stored times of the first and the latest of the alarms of one object that have failed one after another, in Unix
 * milliseconds.
 */
interface Failing {
  readonly since: number;
  readonly lastAt: number;
}

const FAILING_KEY = "failing";

/**
 * Sets another alarm of the object after the work of an alarm has failed, and waits until the new alarm is stored. The
 * first wait is 60 seconds. It grows with every further failure in a row, because the cause may last for days, e.g. a
 * wrong configuration or a record that only a later release can read.
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

/**
 * Stores when the present failures of alarms began. If this cannot be stored, the next failure counts as the first one.
 */
function noteFailure(kv: SyncKvStorage, failing: Failing): void {
  try {
    kv.put(FAILING_KEY, failing);
  } catch {
    // Storage that refuses this value may still have stored the alarm.
  }
}

/**
 * Returns the time at which the present failures of alarms began, in Unix milliseconds. It is the stored time or, when
 * none is stored or the last stored failure is longer ago than twice the longest wait, `now`.
 */
function failingSince(kv: SyncKvStorage, now: number): number {
  try {
    const known = kv.get<Failing>(FAILING_KEY);
    return known === undefined || now - known.lastAt > 2 * MAX_LOOK_MS ? now : known.since;
  } catch {
    // Storage that cannot be read may still store an alarm.
    return now;
  }
}

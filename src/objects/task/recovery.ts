import { lookWaitMs, MAX_LOOK_MS } from "../../core/backoff.ts";

/**
 * A series of alarms of one task object whose handlers have thrown, as stored: the time of the first and of
 * the latest of them, in Unix milliseconds.
 */
interface Failing {
  readonly since: number;
  readonly lastAt: number;
}

const FAILING_KEY = "failing";

/**
 * Sets another alarm of the object after the handler of one has thrown. The platform drops an alarm that
 * keeps throwing, but keeps one that the handler set before it threw. The later alarms come after longer and
 * longer waits, because the cause, e.g. a wrong configuration or a record that only a later release can read,
 * may stay for days.
 * @param now time of the failed alarm, in Unix milliseconds.
 * @param jitter random number from 0 to 1.
 * @throws when the storage refuses to write.
 */
export async function setRecoveryAlarm(
  storage: DurableObjectStorage,
  now: number,
  jitter: number,
): Promise<void> {
  const since = failingSince(storage.kv, now);
  await storage.setAlarm(now + lookWaitMs(now - since, jitter));
  storage.kv.put(FAILING_KEY, { since, lastAt: now } satisfies Failing);
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

import { lookWaitMs, MAX_LOOK_MS } from "../core/backoff.ts";

/** A series of failed alarms of one task, as it is stored. Times are in Unix milliseconds. */
interface Failing {
  readonly since: number;
  readonly lastAt: number;
}

const FAILING_KEY = "failing";

/**
 * Sets the alarm after one that failed. The platform drops an alarm that keeps throwing, but keeps one that
 * was set before the throw. The waits grow with the time since the first failure, because a record of a
 * later release or a wrong configuration may stay for days.
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
 * Returns the time at which the alarms began to fail, in Unix milliseconds: the stored time; or `now` when
 * none is stored, or when the last failure is older than the two longest waits.
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

import { RecentMap } from "../recent-map.ts";
import type { KnownKind } from "../account/duration-book.ts";
import { type AccountBindings, connectionObject } from "../account/object-names.ts";
import { MINUTE_MS } from "../core/time.ts";
import { withTimeout } from "../timeout.ts";

/** Knowledge of this isolate about the jobs of one kind, which is an endpoint and model of a provider. */
export interface CachedKind {
  /**
   * Time at which the Durable Object of the connection was asked for the durations of jobs, in Unix
   * milliseconds.
   */
  readonly askedAt: number;
  /** Answer of the connection's object; null while it has not come, and when it did not come in time. */
  known: KnownKind | null;
  /** States that the connection's object has been asked and that the wait for its answer goes on. */
  isAsked: boolean;
  /**
   * Number of jobs, since the object was asked, that were chosen to send their duration because the object
   * knew too few.
   */
  chosen: number;
}

/** Time for which the durations that a connection's object has returned are used, in milliseconds. */
export const KEPT_MS = 10 * MINUTE_MS;
/** Longest wait for the answer of a connection's object, in milliseconds. */
export const ANSWER_MS = 300;
const MAX_KINDS = 1_000;
const LOOK_AGAIN_MS = 20;

/**
 * Durations of jobs that this isolate knows, by connection and kind of job. The task objects of the isolate
 * share them, so that under load a connection's object is asked once in ten minutes for each kind.
 */
const cache = new RecentMap<CachedKind>(MAX_KINDS);

/**
 * Returns what this isolate knows of a kind of jobs (endpoint and model), after asking the connection's
 * object unless it was asked within the last ten minutes. Waits at most 300 ms.
 */
export async function cachedKind(
  bindings: AccountBindings,
  connection: string,
  kind: string,
): Promise<CachedKind> {
  const key = `${connection} ${kind}`;
  const kept = cache.get(key);
  // The clock may have been put back.
  if (kept !== undefined && Math.abs(Date.now() - kept.askedAt) < KEPT_MS) {
    await answered(kept);
    return kept;
  }
  const entry: CachedKind = { askedAt: Date.now(), known: null, isAsked: true, chosen: 0 };
  cache.set(key, entry);
  const object = connectionObject(bindings, connection);
  // An answer that comes too late for this job is in time for the next one.
  const ask = async (): Promise<void> => {
    entry.known = await object.knownKind(kind);
  };
  await withTimeout("durations", ask, undefined, ANSWER_MS);
  entry.isAsked = false;
  return entry;
}

/**
 * Waits for the answer that another task object of this isolate has asked for. It checks every 20 ms instead
 * of being woken, because a promise should not be resolved by the request of another Durable Object.
 */
async function answered(entry: CachedKind): Promise<void> {
  const endAt = entry.askedAt + ANSWER_MS;
  for (let waitedMs = 0; waitedMs < ANSWER_MS; waitedMs += LOOK_AGAIN_MS) {
    if (!entry.isAsked || Date.now() > endAt) return;
    await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS));
  }
}

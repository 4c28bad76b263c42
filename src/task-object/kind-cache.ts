import QuickLRU from "quick-lru";
import type { KnownKind } from "../account/duration-book.ts";
import { type AccountBindings, connectionObject } from "../account/object-names.ts";
import { MINUTE_MS } from "../core/time.ts";
import { withTimeout } from "../timeout.ts";

/** What this isolate knows of a kind of jobs. */
export interface CachedKind {
  /** Time at which the connection's object was asked, in Unix milliseconds. */
  readonly askedAt: number;
  /** Answer of the object; null while there is none, and also when there was none in time. */
  known: KnownKind | null;
  /** States that the answer is awaited. */
  isAsked: boolean;
  /** Number of jobs that were chosen for a report since then because too few were known. */
  chosen: number;
}

/** Time for which an answer of a connection's object is used, in milliseconds. */
export const KEPT_MS = 10 * MINUTE_MS;
/** Longest wait for an answer of a connection's object, in milliseconds. */
export const ANSWER_MS = 300;
const MAX_KINDS = 1_000;
const LOOK_AGAIN_MS = 20;

/**
 * What this isolate knows of kinds of jobs. The task objects of the isolate share it, so that under load a
 * connection's object is asked once per kind in ten minutes.
 */
const cache: Map<string, CachedKind> = new QuickLRU({ maxSize: MAX_KINDS });

/**
 * Returns what this isolate knows of a kind of jobs, after asking the connection's object unless it was asked
 * within the last ten minutes. Waits at most 300 ms.
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

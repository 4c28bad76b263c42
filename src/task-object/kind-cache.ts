import { isolateCache } from "../isolate-cache.ts";
import type { KnownKind } from "../objects/connection/duration-book.ts";
import { type ObjectNamespaces, connectionObject } from "../objects/object-names.ts";
import { MINUTE_MS } from "../core/time.ts";
import { withTimeout } from "../timeout.ts";

/**
 * Durations of the jobs of one kind (the same endpoint and model of a provider) as this isolate has last got
 * them from the Durable Object of the connection to the provider.
 */
export interface CachedKind {
  /**
   * Time at which the Durable Object of the connection was asked for the durations of jobs, in Unix
   * milliseconds.
   */
  readonly askedAt: number;
  /** Answer of the connection's Durable Object; null until it has come. A late answer serves later jobs. */
  known: KnownKind | null;
  /**
   * States that the Durable Object of the connection has been asked and that the wait for its answer goes on.
   */
  isAsked: boolean;
  /**
   * Number of jobs, since the Durable Object of the connection was asked, that were chosen to report their
   * duration, because that object knew too few durations of such jobs.
   */
  chosen: number;
}

/**
 * Time in milliseconds for which an isolate uses the durations that the Durable Object of a connection has
 * returned, before it asks that object again.
 */
export const KEPT_MS = 10 * MINUTE_MS;
/** Longest wait for an answer of the Durable Object of a connection to a provider, in milliseconds. */
export const ANSWER_MS = 300;
const MAX_KINDS = 1_000;
const LOOK_AGAIN_MS = 20;

/**
 * Durations of jobs that this isolate knows, by connection to a provider and kind of job. The task objects of
 * the isolate share them, so that under load the Durable Object of a connection is asked once in ten minutes
 * for each kind.
 */
const cache = isolateCache<CachedKind>(MAX_KINDS, Infinity);

/**
 * Returns what this isolate knows of a kind of jobs (endpoint and model), after asking the Durable Object of
 * the connection unless it was asked within the last ten minutes. Waits at most 300 ms.
 */
export async function cachedKind(
  bindings: ObjectNamespaces,
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
 * Waits for the answer that another task object of this isolate has asked for. It checks every 20 ms, because
 * a promise that the request of one Durable Object resolves may not wake a request of another one.
 */
async function answered(entry: CachedKind): Promise<void> {
  const endAt = entry.askedAt + ANSWER_MS;
  for (let waitedMs = 0; waitedMs < ANSWER_MS; waitedMs += LOOK_AGAIN_MS) {
    if (!entry.isAsked || Date.now() > endAt) return;
    await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS));
  }
}

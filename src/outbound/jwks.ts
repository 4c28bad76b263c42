import * as z from "zod/mini";
import { DAY_MS, HOUR_MS, SECOND_MS } from "../core/time.ts";
import { withDeadline } from "../lib/timeout.ts";
import { get, type GetRequest } from "./http.ts";

/**
 * Minimum time in milliseconds between two fetches of a key set. Without it, hooks with invented keys could make
 * the relay send many requests to the provider.
 */
const REFRESH_PAUSE_MS = 30 * SECOND_MS;
/**
 * Timeout in milliseconds for fetching a key set. It is short, because a hook waits for the keys, and providers
 * wait only some seconds for the answer to a hook.
 */
const TIMEOUT_MS = 2 * SECOND_MS;
/**
 * Settings that store a key set in Cloudflare's cache for an hour, because most isolates are new and have not
 * fetched it yet. Failures are not cached.
 */
const EDGE_CACHE: RequestInitCfProperties = {
  cacheEverything: true,
  cacheTtlByStatus: { "200-299": HOUR_MS / SECOND_MS, "300-599": -1 },
};

const Ed25519Jwk = z.object({
  kty: z.literal("OKP"),
  crv: z.literal("Ed25519"),
  x: z.base64url().check(z.length(43)),
});
const JwkSet = z.object({ keys: z.array(z.unknown()).check(z.maxLength(100)) });

/**
 * Function that returns the keys of the JWK set (a published set of public keys, RFC 7517) at a URL. Null when the set
 * cannot be fetched, and when it has no usable key.
 * @param isFresh true to fetch the set again, because a key was not in the cached set.
 */
type KeyReader<Key> = (url: string, isFresh: boolean) => Promise<readonly Key[] | null>;

interface CachedKeys<Key> {
  readonly keys: readonly Key[];
  /** Time at which the key set was fetched, in Unix milliseconds. */
  readonly fetchedAt: number;
}

/**
 * Returns a function that fetches a JWK set (a published set of public keys) and caches its keys in this isolate.
 * @param keepMs time in milliseconds after which a cached set is fetched again.
 * @param keyOf imports one key of a set; it returns null for a key of another type.
 */
export function keyReader<Key>(
  keepMs: number,
  keyOf: (jwk: unknown) => Promise<Key | null>,
): KeyReader<Key> {
  // The cache needs no limit: the URLs come from the configuration, so there are few.
  const cache = new Map<string, CachedKeys<Key>>();
  return async (url, isFresh) => {
    const cached = cache.get(url);
    const ageMs = Date.now() - (cached?.fetchedAt ?? 0);
    if (cached !== undefined && ageMs < (isFresh ? REFRESH_PAUSE_MS : keepMs)) return cached.keys;
    const cf = isFresh ? {} : { cf: EDGE_CACHE };
    const jwks = await withDeadline(TIMEOUT_MS, (signal) => fetchKeys({ url, ...cf }, signal));
    const keys = (await Promise.all((jwks ?? []).map(keyOf))).filter((key) => key !== null);
    if (keys.length === 0) return null;
    cache.set(url, { keys, fetchedAt: Date.now() });
    return keys;
  };
}

/** Function that returns the Ed25519 keys of a JWK set (RFC 8037), which this isolate caches for a day. */
export const publicKeys = keyReader(DAY_MS, async (jwk) => {
  const parsed = Ed25519Jwk.safeParse(jwk);
  return parsed.success ? importKey(parsed.data) : null;
});

async function fetchKeys(
  request: GetRequest,
  signal: AbortSignal,
): Promise<readonly unknown[] | null> {
  const answer = await get(request, signal);
  if (answer?.status !== 200) return null;
  const set = JwkSet.safeParse(answer.body);
  return set.success ? set.data.keys : null;
}

function importKey(jwk: z.infer<typeof Ed25519Jwk>): Promise<CryptoKey> {
  return crypto.subtle.importKey("jwk", jwk, "Ed25519", false, ["verify"]);
}

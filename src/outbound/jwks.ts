import * as z from "zod/mini";
import { DAY_MS, HOUR_MS, SECOND_MS } from "../core/time.ts";
import { withDeadline } from "../timeout.ts";
import { get, type GetRequest } from "./http.ts";

const KEEP_MS = DAY_MS;
/**
 * Minimum time between two fetches of a key set, so that hooks with invented keys cannot make the relay
 * flood the provider.
 */
const REFRESH_PAUSE_MS = 30 * SECOND_MS;
/** Timeout of a fetch: short, because a hook waits for the keys, and providers give up after some seconds. */
const TIMEOUT_MS = 2 * SECOND_MS;
/**
 * Settings that keep a key set in Cloudflare's cache for an hour, because most isolates are new and have
 * none of their own. Failures are not kept.
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

interface CachedKeys {
  readonly keys: readonly CryptoKey[];
  /** Time at which the key set was fetched, in Unix milliseconds. */
  readonly fetchedAt: number;
}

/** Cached key sets by URL; the URLs come from the configuration, so there are few. */
const cache = new Map<string, CachedKeys>();

/**
 * Returns the Ed25519 keys of a JWK set (RFC 7517, RFC 8037), which this isolate caches for a day.
 * @param isFresh true to fetch the set again, because the cached one lacked a key.
 * @returns null when the set cannot be fetched or has no Ed25519 key.
 */
export async function publicKeys(
  url: string,
  isFresh: boolean,
): Promise<readonly CryptoKey[] | null> {
  const cached = cache.get(url);
  const ageMs = Date.now() - (cached?.fetchedAt ?? 0);
  if (cached !== undefined && ageMs < (isFresh ? REFRESH_PAUSE_MS : KEEP_MS)) return cached.keys;
  const cf = isFresh ? {} : { cf: EDGE_CACHE };
  const keys = await withDeadline(TIMEOUT_MS, (signal) => fetchKeys({ url, ...cf }, signal));
  if (keys !== null) cache.set(url, { keys, fetchedAt: Date.now() });
  return keys;
}

async function fetchKeys(
  request: GetRequest,
  signal: AbortSignal,
): Promise<readonly CryptoKey[] | null> {
  const answer = await get(request, signal);
  if (answer?.status !== 200) return null;
  const set = JwkSet.safeParse(answer.body);
  if (!set.success) return null;
  const jwks = set.data.keys.map((key) => Ed25519Jwk.safeParse(key));
  const keys = await Promise.all(jwks.flatMap((jwk) => (jwk.success ? [importKey(jwk.data)] : [])));
  return keys.length === 0 ? null : keys;
}

function importKey(jwk: z.infer<typeof Ed25519Jwk>): Promise<CryptoKey> {
  return crypto.subtle.importKey("jwk", jwk, "Ed25519", false, ["verify"]);
}

import * as z from "zod";
import { get } from "./http.ts";

const KEEP_MS = 86_400_000;
/** A hook with an unknown key makes us look again, but not more often than this. */
const REFRESH_PAUSE_MS = 30_000;
/** The hook that waits for this is answered within a second. */
const TIMEOUT_MS = 800;

const Ed25519Jwk = z.object({
  kty: z.literal("OKP"),
  crv: z.literal("Ed25519"),
  x: z.base64url().length(43),
});
const Jwks = z.object({ keys: z.array(z.unknown()).max(100) });

interface Published {
  readonly keys: readonly CryptoKey[];
  readonly fetchedAt: number;
}

const published = new Map<string, Published>();

/**
 * The Ed25519 keys of a JWK set (RFC 7517, RFC 8037), kept for a day by this isolate.
 * @param isFresh a key was missing: the newest set is wanted.
 * @returns null when the set cannot be had now; never fewer keys than it holds.
 */
export async function publicKeys(
  url: string,
  isFresh: boolean,
): Promise<readonly CryptoKey[] | null> {
  const known = published.get(url);
  const ageMs = Date.now() - (known?.fetchedAt ?? 0);
  if (known !== undefined && ageMs < (isFresh ? REFRESH_PAUSE_MS : KEEP_MS)) return known.keys;
  const keys = await fetchKeys(url);
  if (keys !== null) published.set(url, { keys, fetchedAt: Date.now() });
  return keys;
}

async function fetchKeys(url: string): Promise<readonly CryptoKey[] | null> {
  const deadline = new AbortController();
  const timer = setTimeout(() => deadline.abort(), TIMEOUT_MS);
  try {
    const received = await get(url, {}, deadline.signal);
    if (received?.status !== 200) return null;
    const jwks = Jwks.safeParse(received.body);
    if (!jwks.success) return null;
    const parsed = jwks.data.keys.map((key) => Ed25519Jwk.safeParse(key));
    const keys = await Promise.all(
      parsed.flatMap((key) => (key.success ? [imported(key.data)] : [])),
    );
    return keys.length === 0 ? null : keys;
  } finally {
    clearTimeout(timer);
    deadline.abort();
  }
}

async function imported(jwk: z.infer<typeof Ed25519Jwk>): Promise<CryptoKey> {
  return crypto.subtle.importKey("jwk", jwk, "Ed25519", false, ["verify"]);
}

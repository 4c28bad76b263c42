import type { Bytes } from "../../security/encoding.ts";
import { verifyAny } from "../../security/hmac.ts";
import type { HookContext } from "../provider.ts";

/**
 * Tells whether the Ed25519 signature of a hook was made with one of the keys that a provider publishes. Null when the
 * keys cannot be fetched.
 * @param url URL of the published set of keys (JWK set).
 */
export async function verifyPublished(
  url: string,
  signature: Bytes,
  message: Bytes,
  { publicKeys }: HookContext,
): Promise<boolean | null> {
  // Providers rotate their keys, so the cached set may lack the key that has signed this hook.
  for (const isFresh of [false, true]) {
    const keys = await publicKeys(url, isFresh);
    if (keys === null) return null;
    if (await verifyAny(keys, signature, message)) return true;
  }
  return false;
}

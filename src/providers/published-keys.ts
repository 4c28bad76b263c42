import type { Bytes } from "../security/encoding.ts";
import { verifyAny } from "../security/hmac.ts";
import type { HookContext } from "./provider.ts";

/**
 * Verifies the Ed25519 signature of a hook with the keys that its provider publishes, any of which may have
 * made it. Null when the keys cannot be fetched.
 * @param url URL of the JWK set.
 */
export async function verifyPublished(
  url: string,
  signature: Bytes,
  message: Bytes,
  { publicKeys }: HookContext,
): Promise<boolean | null> {
  // Providers rotate their keys: the cached set may lack the one that signed this hook.
  for (const isFresh of [false, true]) {
    const keys = await publicKeys(url, isFresh);
    if (keys === null) return null;
    if (await verifyAny(keys, signature, message)) return true;
  }
  return false;
}

import type { Env } from "../../env.ts";
import { keyObject } from "../../account/object-names.ts";
import { callObject } from "../http/object-call.ts";

/** Keys may look like anything of this length: those made elsewhere are imported by their hash. */
const MIN_KEY_CHARS = 16;
const MAX_KEY_CHARS = 256;

const REMEMBER_MS = 60_000;
const MAX_REMEMBERED = 10_000;
/** Positive answers of this isolate, by hash: a revoked key may be taken for about a minute more. */
const remembered = new Map<string, { readonly accountId: string; readonly until: number }>();

export interface NewKey {
  /** Shown once. */
  readonly key: string;
  readonly prefix: string;
}

export function generateKey(accountId: string): NewKey {
  const random = crypto.getRandomValues(new Uint8Array(24));
  const hex = Array.from(random, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return { key: `trk_${accountId}_${hex}`, prefix: `trk_${accountId}_${hex.slice(0, 6)}` };
}

/**
 * The account whose key this is, or null: unknown, malformed and revoked keys are all alike. What a key
 * says of itself is not believed, so a made-up one never reaches the object that keeps the money.
 */
export async function ownerOfKey(env: Env, key: string): Promise<string | null> {
  if (key.length < MIN_KEY_CHARS || key.length > MAX_KEY_CHARS) return null;
  const hash = await sha256Hex(key);
  const known = remembered.get(hash);
  if (known !== undefined && known.until > Date.now()) return known.accountId;
  const accountId = await callObject(() => keyObject(env.ACCOUNTS, hash).keyOwner());
  if (accountId === null) return null;
  const isValid = await callObject(() => env.ACCOUNTS.getByName(accountId).verifyKey(hash));
  if (!isValid) return null;
  if (remembered.size >= MAX_REMEMBERED) remembered.clear();
  remembered.set(hash, { accountId, until: Date.now() + REMEMBER_MS });
  return accountId;
}

/** Makes this isolate ask again. */
export function forgetKey(hash: string): void {
  remembered.delete(hash);
}

export async function sha256Hex(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

import type { Env } from "../../env.ts";
import { reached } from "../reached.ts";

/** The account that a generated key names; the 24 random bytes behind it are the secret. */
const GENERATED_KEY = /^trk_([A-Za-z0-9_-]{1,64})_[0-9a-f]{48}$/;
/** Keys that were made elsewhere and imported by their hash may look like anything of this length. */
const MIN_KEY_CHARS = 16;
const MAX_KEY_CHARS = 256;

const REMEMBER_MS = 60_000;
const MAX_REMEMBERED = 10_000;
/** Positive answers of this isolate, by hash: a revoked key may be taken for a minute more. */
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

/** The account whose key this is, or null: unknown, malformed and revoked keys are all alike. */
export async function ownerOfKey(env: Env, key: string): Promise<string | null> {
  if (key.length < MIN_KEY_CHARS || key.length > MAX_KEY_CHARS) return null;
  const hash = await sha256Hex(key);
  const known = remembered.get(hash);
  if (known !== undefined && known.until > Date.now()) return known.accountId;
  const named = GENERATED_KEY.exec(key)?.[1];
  const accountId = named ?? (await reached(() => keyObject(env, hash).keyOwner()));
  if (accountId === null) return null;
  const isValid = await reached(() => env.ACCOUNTS.getByName(accountId).verifyKey(hash));
  if (!isValid) return null;
  if (remembered.size >= MAX_REMEMBERED) remembered.clear();
  remembered.set(hash, { accountId, until: Date.now() + REMEMBER_MS });
  return accountId;
}

/** The object that tells the owner of an imported key; the colon keeps it apart from all accounts. */
export function keyObject(env: Env, hash: string) {
  return env.ACCOUNTS.getByName(`key:${hash}`);
}

export async function sha256Hex(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * Encryption of the keys that customers have at upstreams. An encrypted key can be decrypted only for the task and the
 * connection for which it was encrypted.
 */
import type { SealedKey } from "../core/record/customer-key.ts";
import { openText, type SealingKeys, sealText } from "./sealing.ts";

/** The task and the connection for which a customer's key is encrypted. */
export interface KeyPlace {
  readonly taskId: string;
  readonly connection: string;
}

/**
 * Encrypts a customer's key with the newest of `keys`.
 * @throws Error when there is no key to encrypt with.
 */
export async function sealKey(key: string, place: KeyPlace, keys: SealingKeys): Promise<SealedKey> {
  return await sealText(key, textOf(place), keys);
}

/**
 * Decrypts a customer's key. Null when the secret with which it was encrypted is not among `keys`, when it was
 * encrypted for another task or connection, and when it was changed.
 */
export async function openKey(
  sealed: SealedKey,
  place: KeyPlace,
  keys: SealingKeys,
): Promise<string | null> {
  return await openText(sealed, textOf(place), keys);
}

function textOf({ taskId, connection }: KeyPlace): string {
  return `${connection}\n${taskId}`;
}

import type { Policy } from "../policy.ts";
import type { SealedText } from "./sealed-text.ts";

/** A customer's own key at the upstream, encrypted (security/sealed-key.ts). */
export type SealedKey = SealedText;

/**
 * State of a customer's own key at the upstream, for a task whose job was submitted with that key and not with the key
 * of the connection.
 */
export type CustomerKey =
  | ({
      readonly kind: "sealed";
      /**
       * Time at which the relay found that it no longer has the secret to decrypt the key, in Unix milliseconds. Null
       * while it has the secret.
       */
      readonly unreadableSince: number | null;
    } & SealedKey)
  /** State after a customer's key was removed because the task no longer needs it. */
  | { readonly kind: "dropped" };

/** The part of a task's record that states whether its job was submitted with a customer's key. */
interface Keyed {
  readonly submission: { readonly customerKey: CustomerKey | null } | null;
}

/** Tells whether the job of a task was submitted with a key of the customer, and not with that of the connection. */
export function hasCustomerKey({ submission }: Keyed): boolean {
  return submission !== null && submission.customerKey !== null;
}

/**
 * Returns the encrypted key of the customer of a task. Null when the task never had such a key, and when the key is not
 * stored any more.
 */
export function sealedKeyOf({ submission }: Keyed): SealedKey | null {
  const key = submission?.customerKey ?? null;
  if (key?.kind !== "sealed") return null;
  const { sealedWith, nonce, ciphertext } = key;
  return { sealedWith, nonce, ciphertext };
}

/**
 * Returns the time since when the relay has no secret to decrypt the customer's key of a task. Null while it has the
 * secret, and for a task that stores no such key.
 */
export function keyUnreadableSince({ submission }: Keyed): number | null {
  const key = submission?.customerKey ?? null;
  return key?.kind === "sealed" ? key.unreadableSince : null;
}

/** Tells whether the relay has the secret with which a customer's key was encrypted. */
export function isReadable({ sealedWith }: SealedKey, { sealingIds }: Policy): boolean {
  return sealingIds.has(sealedWith);
}

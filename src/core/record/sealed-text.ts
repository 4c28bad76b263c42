/**
 * A secret text, encrypted and authenticated by the relay (security/sealing.ts), so that a stored record does not
 * reveal it.
 */
export interface SealedText {
  /** Identifier of the relay secret with which the text is encrypted. It does not reveal the secret. */
  readonly sealedWith: string;
  /** Random number (nonce) with which the text was encrypted, in base64url. */
  readonly nonce: string;
  /** The encrypted text with its authentication tag, in base64url. */
  readonly ciphertext: string;
}

/**
 * Smallest length in characters of a secret that is replaced in texts. A shorter one may occur in a text by chance, and
 * is not replaced.
 */
const MIN_SECRET_CHARS = 8;

/**
 * Returns the texts that must be hidden in the answers of an upstream: the given secrets, and both parts of a secret
 * that has two parts (`access:secret`). Texts shorter than `MIN_SECRET_CHARS` are left out.
 */
export function hiddenTexts(...secrets: readonly (string | null | undefined)[]): readonly string[] {
  const parts = secrets.flatMap((secret) => (secret ? [secret, ...secret.split(":")] : []));
  return [...new Set(parts)].filter(({ length }) => length >= MIN_SECRET_CHARS);
}

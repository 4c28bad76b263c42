/** Fewest characters of a secret that is replaced in texts: a shorter one may stand there by chance. */
const MIN_SECRET_CHARS = 8;

/**
 * Returns the texts that nobody may read in what an upstream says: these secrets, and the parts of a key of two parts
 * (`access:secret`).
 */
export function hiddenTexts(...secrets: readonly (string | null | undefined)[]): readonly string[] {
  const parts = secrets.flatMap((secret) => (secret ? [secret, ...secret.split(":")] : []));
  return [...new Set(parts)].filter(({ length }) => length >= MIN_SECRET_CHARS);
}

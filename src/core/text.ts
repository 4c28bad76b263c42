/** The character U+FFFD, which is put in place of each character that a text must not contain. */
const REPLACEMENT = "\ufffd";

/**
 * Returns a text in which U+FFFD replaces each lone surrogate (half of a UTF-16 pair) and each U+0000. Some strict
 * parsers refuse JSON that contains these: `json_decode` of PHP, jq, the encoder of Python, the type `jsonb` of
 * Postgres. They are replaced and not removed, so that a reader sees that something was lost. Removing them could also
 * create another word, e.g. one that a filter forbids
 * (https://www.unicode.org/reports/tr36/#Deletion_of_Noncharacters).
 */
export function wellFormed(text: string): string {
  return text.toWellFormed().replaceAll("\0", REPLACEMENT);
}

/** Tells whether a text contains neither a lone surrogate nor U+0000. */
export function isWellFormed(text: string): boolean {
  return text.isWellFormed() && !text.includes("\0");
}

/** Returns the first `max` UTF-16 units of a text, or one fewer if the last would be half of a surrogate pair. */
export function firstChars(text: string, max: number): string {
  return text.length <= max ? text : text.slice(0, max).replace(/[\uD800-\uDBFF]$/, "");
}

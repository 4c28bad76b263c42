/** Largest number of characters that JSON may have with and without its indentation. */
const INDENTED_CHARACTERS = 8_192;

/**
 * Writes JSON with indentation, or without it when it is long: deep nesting makes the text up to sixty times
 * as long, and a page shows only its beginning.
 */
export function indentedJson(value: unknown): string {
  const compact = JSON.stringify(value);
  if (compact.length > INDENTED_CHARACTERS) return compact;
  const indented = JSON.stringify(value, null, 2);
  return indented.length > INDENTED_CHARACTERS ? compact : indented;
}

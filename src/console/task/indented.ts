/** Largest number of characters of a JSON text, with and without indentation, that is shown with indentation. */
const INDENTED_CHARACTERS = 8_192;

/**
 * Returns a value as JSON with indentation. A long text is returned without indentation, because deep nesting would
 * make it up to sixty times as long, and a page shows only its beginning.
 */
export function indentedJson(value: unknown): string {
  const compact = JSON.stringify(value);
  if (compact.length > INDENTED_CHARACTERS) return compact;
  const indented = JSON.stringify(value, null, 2);
  return indented.length > INDENTED_CHARACTERS ? compact : indented;
}

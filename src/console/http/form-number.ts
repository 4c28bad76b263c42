/**
 * Reads a number from a field of a form or a parameter of a URL. As in the API, only whole numbers in decimal digits
 * are accepted.
 * @returns the number, or the unchanged text when it is not such a number, so that a schema that expects a number
 * refuses it. An absent field gives the empty text.
 */
export function numberIn(fields: URLSearchParams, name: string): number | string {
  const text = fields.get(name) ?? "";
  return /^\d{1,16}$/.test(text) ? Number(text) : text;
}

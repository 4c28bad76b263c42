/**
 * Reads a number from a field of a form or a parameter of a URL. As in the API, only whole numbers in decimal
 * digits are numbers.
 * @returns the number, or the text itself when it is none, which a schema that expects a number then refuses;
 * an absent field is the empty text.
 */
export function numberIn(fields: URLSearchParams, name: string): number | string {
  const text = fields.get(name) ?? "";
  return /^\d{1,16}$/.test(text) ? Number(text) : text;
}

/** Largest number of bytes that one number takes in V8's serialisation: a type tag and a double. */
const NUMBER_BYTES = 9;
const TWO_BYTE_CHARACTER = /[\u0100-\uffff]/;

/**
 * Returns the largest number of bytes that the platform may need to store a value of JSON types. The platform
 * serialises values with V8, where text takes one byte per character, or two per character when any character is
 * beyond U+00FF.
 */
export function storedBytes(value: unknown): number {
  if (typeof value === "string") return textBytes(value);
  if (typeof value === "number") return NUMBER_BYTES;
  if (typeof value !== "object" || value === null) return 1;
  return Array.isArray(value) ? listBytes(value) : objectBytes(value);
}

function textBytes(text: string): number {
  if (!TWO_BYTE_CHARACTER.test(text)) return 1 + varintBytes(text.length) + text.length;
  const bytes = 2 * text.length;
  // Counts one byte of padding, because the characters may have to begin at an even position.
  return 1 + varintBytes(bytes) + 1 + bytes;
}

function listBytes(list: readonly unknown[]): number {
  const frame = 3 + 2 * varintBytes(list.length);
  return list.reduce<number>((sum, item) => sum + storedBytes(item), frame);
}

function objectBytes(object: object): number {
  const keys = Object.keys(object);
  const frame = 2 + varintBytes(keys.length);
  const named = keys.reduce((sum, key) => sum + textBytes(key), frame);
  return Object.values(object).reduce<number>((sum, value) => sum + storedBytes(value), named);
}

/** Returns how many bytes V8's serialisation needs to write a length. Each of these bytes carries seven bits. */
function varintBytes(length: number): number {
  let bytes = 1;
  for (let rest = length; rest >= 128; rest /= 128) bytes++;
  return bytes;
}

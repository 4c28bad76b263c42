import { wellFormed } from "./text.ts";

/** A parsed JSON value. */
export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: JsonValue;
}

/**
 * Tells whether two parsed JSON values are equal. The order of keys does not matter; the order of list items does.
 */
export function jsonEqual(a: JsonValue, b: JsonValue): boolean {
  if (a === b) return true;
  if (isList(a) && isList(b)) {
    return a.length === b.length && a.every((item, i) => jsonEqual(item, b[i] ?? null));
  }
  if (!isObject(a) || !isObject(b)) return false;
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length) return false;
  return keys.every((key) => Object.hasOwn(b, key) && jsonEqual(a[key] ?? null, b[key] ?? null));
}

/** Escape of a surrogate or of U+0000, without which a JSON text that is well formed has only well-formed texts in it. */
const ODD_ESCAPE = /\\u(?:d[89a-f]|0000)/i;
/** Begin of a number of at least 16 digits, as no smaller number is beyond 2^53. Texts may contain such a begin too. */
const LONG_NUMBER = /(?:^|[:[,\s])-?\d{16}/;

/**
 * Returns the value of a JSON text from outside; undefined when the text is not JSON. All texts and names in it are well
 * formed (`wellFormed`), because they may get into the body of a callback, which stays the same at every attempt. An
 * integer that a number cannot hold is the text of its digits, as in `parseJsonAsSent`.
 */
export function parseJson(text: string): JsonValue | undefined {
  const whole = text.toWellFormed();
  const value = parseJsonAsSent(whole);
  if (value === undefined || !ODD_ESCAPE.test(whole)) return value;
  try {
    return wellFormedJson(value);
  } catch {
    // The value is nested so deeply that the stack ends.
    return undefined;
  }
}

/**
 * Returns the value of a JSON text; undefined when the text is not JSON. Texts in it stay as they were sent, for a caller
 * who is refused when one is not well formed. An integer beyond 2^53 that a number cannot hold, e.g. an id or a seed of
 * 64 bits, is the text of its digits, as the JSON of many APIs has such integers
 * (https://protobuf.dev/programming-guides/json/).
 */
export function parseJsonAsSent(text: string): JsonValue | undefined {
  try {
    return LONG_NUMBER.test(text) ? JSON.parse(text, withDigits) : JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Keeps the digits of a number that a parsed JSON value has rounded. `source` is the text of a number, text or word. */
function withDigits(
  _name: string,
  value: JsonValue,
  { source = "" }: { readonly source?: string } = {},
): JsonValue {
  return typeof value === "number" && isLongInteger(source) ? source : value;
}

/** Tells whether a value is the text of an integer beyond 2^53, which a number cannot hold. */
export function isLongInteger(value: unknown): value is string {
  if (typeof value !== "string" || !/^-?[1-9]\d{15,}$/.test(value)) return false;
  return !Number.isSafeInteger(Number(value));
}

/** Returns a parsed JSON value with all texts and names in it well formed. */
export function wellFormedJson(value: JsonValue): JsonValue {
  if (typeof value === "string") return wellFormed(value);
  if (isList(value)) return value.map(wellFormedJson);
  return isObject(value) ? wellFormedMembers(value) : value;
}

/** Returns a JSON object with all texts and names in it well formed. */
export function wellFormedMembers(object: JsonObject): JsonObject {
  const members = Object.entries(object);
  return Object.fromEntries(
    members.map(([name, value]) => [wellFormed(name), wellFormedJson(value)]),
  );
}

/**
 * Returns the text of a JSON object with the members of another JSON object appended. Both are given as text and
 * not parsed, so that the first keeps its exact bytes. No member name may stand in both.
 */
export function appendMembers(object: string, members: string): string {
  if (members === "{}") return object;
  return object === "{}" ? members : `${object.slice(0, -1)},${members.slice(1)}`;
}

function isList(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value);
}

/** Tells whether a parsed JSON value is an object and not a list. */
export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

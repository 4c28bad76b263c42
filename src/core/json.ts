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

/**
 * Pattern of the escape of a surrogate or of U+0000 in a JSON text. When a well-formed JSON text has no such escape,
 * all texts in its value are well-formed too.
 */
const ODD_ESCAPE = /\\u(?:d[89a-f]|0000)/i;
/**
 * Pattern of the beginning of a number with at least 16 digits, because only such numbers can be beyond 2^53. Strings
 * in the JSON text may match it too.
 */
const LONG_NUMBER = /(?:^|[:[,\s])-?\d{16}/;

/**
 * Returns the value of a JSON text from outside; undefined when the text is not JSON. Texts and names in it are made
 * well formed (`wellFormed`), because they may become part of the body of a callback, which must be the same in every
 * attempt. An integer that a number cannot represent exactly becomes the text of its digits, as in `parseJsonAsSent`.
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
 * Returns the value of a JSON text; undefined when the text is not JSON. Texts in it stay as they were sent, so that
 * the caller can be told of a text that is not well formed. An integer beyond 2^53 that a number cannot represent
 * exactly, e.g. an id or a seed of 64 bits, becomes the text of its digits. The JSON of many APIs has such integers as
 * texts too (https://protobuf.dev/programming-guides/json/).
 */
export function parseJsonAsSent(text: string): JsonValue | undefined {
  try {
    return LONG_NUMBER.test(text) ? JSON.parse(text, withDigits) : JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Reviver for `JSON.parse`: returns the digits of an integer as text when the parsed number has rounded it, otherwise
 * the parsed value. `source` is the JSON text of the value.
 */
function withDigits(
  _name: string,
  value: JsonValue,
  { source = "" }: { readonly source?: string } = {},
): JsonValue {
  return typeof value === "number" && isLongInteger(source) ? source : value;
}

/** Tells whether a value is the text of an integer beyond 2^53 that a number cannot represent exactly. */
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

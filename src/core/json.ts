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
 * Pattern of the JSON escapes of surrogates and of U+0000. When a well-formed JSON text has no such escape, all strings
 * in its value are well-formed too.
 */
const ODD_ESCAPE = /\\u(?:d[89a-f]|0000)/i;
/**
 * Pattern of the beginning of a number with at least 16 digits. Only such a number can be too large to be represented
 * exactly (beyond 2^53). The pattern may also match digits inside a string of the JSON text.
 */
const LONG_NUMBER = /(?:^|[:[,\s])-?\d{16}/;

/**
 * Returns the value of a JSON text that another service has sent; undefined when the text is not JSON. Strings and
 * member names are made well formed (`wellFormed`), because they may become part of the body of a callback, which must
 * be the same in every attempt. An integer that a JavaScript number cannot represent exactly becomes the string of its
 * digits, as in `parseJsonAsSent`.
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
 * Returns the value of a JSON text; undefined when the text is not JSON. Strings in it stay as they were sent, so that
 * the caller can be told of one that is not well formed. An integer beyond 2^53 that a JavaScript number cannot
 * represent exactly, e.g. an id or a seed of 64 bits, becomes the string of its digits. The JSON of many APIs
 * represents such integers as strings too (https://protobuf.dev/programming-guides/json/).
 */
export function parseJsonAsSent(text: string): JsonValue | undefined {
  try {
    return LONG_NUMBER.test(text) ? JSON.parse(text, withDigits) : JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Reviver for `JSON.parse`. Returns an integer as the string of its digits if parsing has rounded it, otherwise the
 * parsed value. `source` is the JSON text of the value.
 */
function withDigits(
  _name: string,
  value: JsonValue,
  { source = "" }: { readonly source?: string } = {},
): JsonValue {
  return typeof value === "number" && isLongInteger(source) ? source : value;
}

/**
 * Tells whether a value is a string that contains an integer beyond 2^53 which a JavaScript number cannot represent
 * exactly.
 */
export function isLongInteger(value: unknown): value is string {
  if (typeof value !== "string" || !/^-?[1-9]\d{15,}$/.test(value)) return false;
  return !Number.isSafeInteger(Number(value));
}

/**
 * Returns a copy of a parsed JSON value in which all strings and member names are well formed (without lone surrogates
 * and U+0000).
 */
export function wellFormedJson(value: JsonValue): JsonValue {
  if (typeof value === "string") return wellFormed(value);
  if (isList(value)) return value.map(wellFormedJson);
  return isObject(value) ? wellFormedMembers(value) : value;
}

/**
 * Returns a copy of a JSON object in which all strings and member names are well formed (without lone surrogates and
 * U+0000).
 */
export function wellFormedMembers(object: JsonObject): JsonObject {
  const members = Object.entries(object);
  return Object.fromEntries(
    members.map(([name, value]) => [wellFormed(name), wellFormedJson(value)]),
  );
}

/**
 * Returns the JSON text of an object to which the members of another object are appended. Both are given as JSON text
 * and are not parsed, so that the first keeps its exact bytes. No member name may occur in both.
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

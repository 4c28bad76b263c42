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

/** Returns the value of a JSON text; undefined when the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
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

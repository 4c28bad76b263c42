import { isLongInteger, parseJson } from "../core/json.ts";
import { isHttpUrl } from "../core/url.ts";

/**
 * Functions that read fields in JSON from providers. A field with another type than the expected one counts as
 * absent.
 */

/** Returns the value at a path (member names and list positions) in parsed JSON. Undefined when there is none. */
export function at(value: unknown, ...path: readonly (string | number)[]): unknown {
  let found = value;
  for (const key of path) {
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, key)) return undefined;
    found = Reflect.get(found, key);
  }
  return found;
}

/** Returns the string at a path in parsed JSON. Null when it is absent or empty. */
export function textAt(value: unknown, ...path: readonly (string | number)[]): string | null {
  const found = at(value, ...path);
  return typeof found === "string" && found !== "" ? found : null;
}

/**
 * Returns the id at a path in parsed JSON. Providers write ids as strings or as numbers; an integer beyond 2^53 has
 * become a string when it was parsed (`parseJson`). Null when the id is absent, or is a number that is no integer.
 */
export function idAt(value: unknown, ...path: readonly (string | number)[]): string | null {
  const found = at(value, ...path);
  if (typeof found === "number") return Number.isSafeInteger(found) ? String(found) : null;
  return textAt(value, ...path);
}

/**
 * Returns the number at a path in parsed JSON, where it may also be a string (`"5"`, `"5.1"`, `"5s"`). Null when it is
 * absent, or when parsing may have rounded it.
 */
export function numberAt(value: unknown, ...path: readonly (string | number)[]): number | null {
  const found = at(value, ...path);
  const number = decimalOf(typeof found === "string" ? withoutSeconds(found) : found);
  return number !== null && Math.abs(number) <= Number.MAX_SAFE_INTEGER ? number : null;
}

/** Returns a text without the unit `s` at its end. */
function withoutSeconds(text: string): string {
  const trimmed = text.trim();
  return trimmed.endsWith("s") ? trimmed.slice(0, -1).trimEnd() : trimmed;
}

/**
 * Returns the number that a value states: a number of JSON, or a string that is a plain decimal number (`"108900"`,
 * `"-0.5"`). Null for everything else, also for strings that JavaScript would convert (`""`, `"0x10"`, `"1e3"`).
 */
export function decimalOf(value: unknown): number | null {
  if (typeof value === "number") return value;
  return typeof value === "string" && /^\s*-?\d+(?:\.\d+)?\s*$/.test(value) ? Number(value) : null;
}

/**
 * Returns the first value that `read` finds in an object under one of the given names, because a provider may have
 * several names for the same thing. Null when there is none.
 */
export function firstAt<T>(
  value: unknown,
  names: readonly string[],
  read: (value: unknown, name: string) => T | null,
): T | null {
  return names.map((name) => read(value, name)).find((found) => found !== null) ?? null;
}

/**
 * Returns the percentage at a path in parsed JSON, where it is a number or a string (`"50%"`). Null when it is absent.
 */
export function percentAt(value: unknown, ...path: readonly (string | number)[]): number | null {
  const percent = /^(\d+(?:\.\d+)?)\s*%$/.exec(textAt(value, ...path)?.trim() ?? "")?.[1];
  return percent === undefined ? numberAt(value, ...path) : Number(percent);
}

/**
 * Returns the number at a path in parsed JSON, rounded to an integer, because providers report e.g. a duration of 5.041
 * when 5 was requested. Null when it is absent.
 */
export function integerAt(value: unknown, ...path: readonly (string | number)[]): number | null {
  const found = numberAt(value, ...path);
  return found === null ? null : Math.round(found);
}

/**
 * Returns the seed at a path in parsed JSON. It is a whole number as `integerAt` reads it, or the string of its digits
 * if a JavaScript number cannot represent it exactly. Null when it is absent.
 */
export function seedAt(
  value: unknown,
  ...path: readonly (string | number)[]
): number | string | null {
  const found = at(value, ...path);
  return isLongInteger(found) ? found : integerAt(found);
}

/** Returns the boolean at a path in parsed JSON. Null when it is absent. */
export function booleanAt(value: unknown, ...path: readonly (string | number)[]): boolean | null {
  const found = at(value, ...path);
  return typeof found === "boolean" ? found : null;
}

/**
 * Returns the list at a path in parsed JSON. A single value counts as a list of one, and an absent value as an empty
 * list.
 */
export function listAt(value: unknown, ...path: readonly (string | number)[]): readonly unknown[] {
  const found = at(value, ...path);
  if (found === undefined || found === null) return [];
  return Array.isArray(found) ? found : [found];
}

/** Returns those of the values that are http(s) URLs. */
export function urlsOf(values: readonly unknown[]): readonly string[] {
  return values.filter((value): value is string => typeof value === "string" && isHttpUrl(value));
}

/**
 * Returns the ISO 8601 time at a path in parsed JSON, in Unix milliseconds. Null when it is absent, and when it states
 * no time zone, because assuming UTC could make it wrong by half a day.
 */
export function isoMsAt(value: unknown, ...path: readonly (string | number)[]): number | null {
  return isoMsOf(textAt(value, ...path) ?? "", null);
}

/**
 * Returns the time that a text states in ISO 8601 (a space may replace the `T`), in Unix milliseconds. Null for any
 * other text.
 * @param zone time zone of a time that states none: `Z` or an offset like `+08:00`. Null when it is not known; a time
 * without a zone then gives null.
 */
export function isoMsOf(text: string, zone: string | null): number | null {
  // Date.parse accepts other texts too: "5" would be a day in May.
  const [found, day, time, own = zone] = ISO_TIME.exec(text) ?? [];
  if (found === undefined || own === null) return null;
  const ms = Date.parse(`${day}T${time}${zoneOf(own)}`);
  return Number.isNaN(ms) ? null : ms;
}

/** Pattern of a time in ISO 8601. It captures the day, the time of day, and the zone if it is stated. */
const ISO_TIME =
  /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?) ?(Z|UTC|GMT|[+-]\d\d(?::?\d\d)?)?$/i;

/**
 * Returns a time zone in the form that `Date.parse` reads. Offsets without a colon or without minutes, which ISO 8601
 * permits too, are converted.
 */
function zoneOf(stated: string): string {
  const [, hours, minutes = "00"] = /^([+-]\d\d):?(\d\d)?$/.exec(stated) ?? [];
  return hours === undefined ? "Z" : `${hours}:${minutes}`;
}

/**
 * Returns the parsed value of a string at a path in JSON, if this string is itself JSON. Undefined when it is not JSON.
 */
export function jsonAt(value: unknown, ...path: readonly (string | number)[]): unknown {
  return parseJson(textAt(value, ...path) ?? "");
}

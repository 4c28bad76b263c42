import { parseJson } from "../core/json.ts";
import { isHttpUrl } from "../core/url.ts";

/**
 * Functions that read fields of JSON from providers. A field whose type is not the expected one counts as
 * absent.
 */

/** Reads the value at a path in parsed JSON; undefined when absent. */
export function at(value: unknown, ...path: readonly (string | number)[]): unknown {
  let found = value;
  for (const key of path) {
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, key)) return undefined;
    found = Reflect.get(found, key);
  }
  return found;
}

/** Reads non-empty text at a path; null when absent. */
export function textAt(value: unknown, ...path: readonly (string | number)[]): string | null {
  const found = at(value, ...path);
  return typeof found === "string" && found !== "" ? found : null;
}

/**
 * Reads an id, which providers write as text or as a number; null when absent, or when parsing may have
 * rounded the number.
 */
export function idAt(value: unknown, ...path: readonly (string | number)[]): string | null {
  const found = at(value, ...path);
  if (typeof found === "number") return Number.isSafeInteger(found) ? String(found) : null;
  return textAt(value, ...path);
}

/**
 * Reads a number, also from text (`"5"`, `"5.1"`, `"5s"`); null when absent, or when parsing may have
 * rounded the number.
 */
export function numberAt(value: unknown, ...path: readonly (string | number)[]): number | null {
  const found = at(value, ...path);
  const written =
    typeof found === "string" ? /^(-?\d+(?:\.\d+)?)\s*s?$/.exec(found.trim())?.[1] : found;
  if (typeof written !== "string" && typeof written !== "number") return null;
  return Math.abs(Number(written)) <= Number.MAX_SAFE_INTEGER ? Number(written) : null;
}

/** Reads a percentage, written as a number or as text (`"50%"`); null when absent. */
export function percentAt(value: unknown, ...path: readonly (string | number)[]): number | null {
  const percent = /^(\d+(?:\.\d+)?)\s*%$/.exec(textAt(value, ...path)?.trim() ?? "")?.[1];
  return percent === undefined ? numberAt(value, ...path) : Number(percent);
}

/** Reads a number rounded to an integer: providers report a duration of 5.041 where 5 was requested. */
export function integerAt(value: unknown, ...path: readonly (string | number)[]): number | null {
  const found = numberAt(value, ...path);
  return found === null ? null : Math.round(found);
}

/** Reads a boolean at a path; null when absent. */
export function booleanAt(value: unknown, ...path: readonly (string | number)[]): boolean | null {
  const found = at(value, ...path);
  return typeof found === "boolean" ? found : null;
}

/** Reads a list at a path; a single value counts as a list of one, an absent value as an empty list. */
export function listAt(value: unknown, ...path: readonly (string | number)[]): readonly unknown[] {
  const found = at(value, ...path);
  if (found === undefined || found === null) return [];
  return Array.isArray(found) ? found : [found];
}

/** Selects the http(s) URLs among the values. */
export function urlsOf(values: readonly unknown[]): readonly string[] {
  return values.filter((value): value is string => typeof value === "string" && isHttpUrl(value));
}

/** Collects the scalar values of nested lists and objects, down to `depth` levels. */
export function leavesOf(value: unknown, depth: number): readonly unknown[] {
  if (typeof value !== "object" || value === null) return [value];
  if (depth === 0) return [];
  return Object.values(value).flatMap((part) => leavesOf(part, depth - 1));
}

/** Reads an ISO 8601 time at a path as Unix milliseconds; null when absent. */
export function isoMsAt(value: unknown, ...path: readonly (string | number)[]): number | null {
  const text = textAt(value, ...path) ?? "";
  // Date.parse accepts other texts too: "5" would be a day in May.
  const ms = /^\d{4}-\d\d-\d\dT/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(ms) ? null : ms;
}

/** Parses JSON that is text inside other JSON; undefined when the text is not JSON. */
export function jsonAt(value: unknown, ...path: readonly (string | number)[]): unknown {
  return parseJson(textAt(value, ...path) ?? "");
}

/** Readers of JSON that somebody else wrote: a field of another type counts as absent. */

export function at(value: unknown, ...path: readonly (string | number)[]): unknown {
  let found = value;
  for (const key of path) {
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, key)) return undefined;
    found = Reflect.get(found, key);
  }
  return found;
}

/** Text with something in it. */
export function textAt(value: unknown, ...path: readonly (string | number)[]): string | null {
  const found = at(value, ...path);
  return typeof found === "string" && found !== "" ? found : null;
}

/**
 * Text, or a number as its digits: providers write ids both ways. A number that parsing may have
 * rounded is no id.
 */
export function idAt(value: unknown, ...path: readonly (string | number)[]): string | null {
  const found = at(value, ...path);
  if (typeof found === "number") return Number.isSafeInteger(found) ? String(found) : null;
  return textAt(value, ...path);
}

/**
 * A number, also where it is written as text (`"5"`, `"5.1"`, `"5s"`). What parsing may have rounded
 * counts as absent.
 */
export function numberAt(value: unknown, ...path: readonly (string | number)[]): number | null {
  const found = at(value, ...path);
  const written =
    typeof found === "string" ? /^(-?\d+(?:\.\d+)?)\s*s?$/.exec(found.trim())?.[1] : found;
  if (typeof written !== "string" && typeof written !== "number") return null;
  return Math.abs(Number(written)) <= Number.MAX_SAFE_INTEGER ? Number(written) : null;
}

/** Rounded: providers measure 5.041 for a duration of 5 that was asked for. */
export function integerAt(value: unknown, ...path: readonly (string | number)[]): number | null {
  const found = numberAt(value, ...path);
  return found === null ? null : Math.round(found);
}

export function booleanAt(value: unknown, ...path: readonly (string | number)[]): boolean | null {
  const found = at(value, ...path);
  return typeof found === "boolean" ? found : null;
}

/** The items of a list; a single value counts as a list of one, what is absent as an empty one. */
export function listAt(value: unknown, ...path: readonly (string | number)[]): readonly unknown[] {
  const found = at(value, ...path);
  if (found === undefined || found === null) return [];
  return Array.isArray(found) ? found : [found];
}

/** Every http(s) URL among `values`. */
export function urlsOf(values: readonly unknown[]): readonly string[] {
  return values.filter((value): value is string => typeof value === "string" && isHttpUrl(value));
}

/** All that is no list and no object, from as deep as `depth` levels. */
export function leavesOf(value: unknown, depth: number): readonly unknown[] {
  if (typeof value !== "object" || value === null) return [value];
  if (depth === 0) return [];
  return Object.values(value).flatMap((part) => leavesOf(part, depth - 1));
}

/** Unix milliseconds of an ISO 8601 text. */
export function isoMsAt(value: unknown, ...path: readonly (string | number)[]): number | null {
  const text = textAt(value, ...path) ?? "";
  // Other texts are read as dates too: "5" would be a day in May.
  const ms = /^\d{4}-\d\d-\d\dT/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(ms) ? null : ms;
}

/** JSON inside of JSON. */
export function jsonAt(value: unknown, ...path: readonly (string | number)[]): unknown {
  try {
    return JSON.parse(textAt(value, ...path) ?? "");
  } catch {
    return undefined;
  }
}

function isHttpUrl(text: string): boolean {
  const protocol = URL.parse(text)?.protocol;
  return protocol === "https:" || protocol === "http:";
}

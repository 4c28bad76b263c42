import { DAY_MS, HOUR_MS } from "../../core/time.ts";

/** Time ranges that a list of tasks offers: their names in the URL, with their lengths in milliseconds. */
export const RANGES: Readonly<Record<string, number>> = {
  "1h": HOUR_MS,
  "24h": DAY_MS,
  "7d": 7 * DAY_MS,
};

/**
 * Largest age in milliseconds of the tasks that are searched for an upstream job's id, unless the URL names a range or
 * a start time.
 */
const JOB_RANGE_MS = 28 * DAY_MS;

/** Names of the filters of a list of tasks. The API's parameters have the same names. */
export const FILTER_NAMES = [
  "callback",
  "status",
  "category",
  "submission",
  "refusal",
  "outputs",
  "host",
  "model",
  "provider",
  "account",
  "outcome",
  "status_code",
  "job",
  "since",
  "until",
] as const;

/**
 * Converts the query of a page's URL to the parameters of `GET /v1/tasks`: the filters that are not empty, and
 * `cursor`. A `range` becomes the start time `since`.
 * @param now current time, in Unix milliseconds.
 */
export function taskParameters(search: URLSearchParams, now: number): URLSearchParams {
  const asked = new URLSearchParams();
  for (const name of [...FILTER_NAMES, "cursor"]) {
    const value = search.get(name)?.trim() ?? "";
    if (value !== "") asked.set(name, value);
  }
  const rangeMs = RANGES[search.get("range") ?? ""] ?? (asked.has("job") ? JOB_RANGE_MS : null);
  if (rangeMs !== null && !asked.has("since")) {
    asked.set("since", String(Math.floor((now - rangeMs) / 1000)));
  }
  return asked;
}

/** Returns a copy of the parameters without those that have one of the given names. */
export function without(search: URLSearchParams, ...names: readonly string[]): URLSearchParams {
  const rest = new URLSearchParams(search);
  for (const name of names) rest.delete(name);
  return rest;
}

/**
 * Returns a path with query parameters. A value in `values` replaces the parameter of the same name; null removes it.
 */
export function pathWith(
  path: string,
  search: URLSearchParams,
  values: Readonly<Record<string, string | null>> = {},
): string {
  const all = new URLSearchParams(search);
  for (const [name, value] of Object.entries(values)) {
    if (value === null) all.delete(name);
    else all.set(name, value);
  }
  return all.size === 0 ? path : `${path}?${all.toString()}`;
}

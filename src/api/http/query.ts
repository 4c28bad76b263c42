import { jsonPointer } from "./body.ts";
import { invalidRequest } from "./problem.ts";

/** Page sizes of a list: `fallback` is the size without the parameter `limit`, and `max` is the largest. */
export interface PageLimits {
  readonly fallback: number;
  readonly max: number;
}

/** Reads the parameters of a query by name. @throws Problem `invalid_request` for a repeated one. */
export function queryOf(query: URLSearchParams): Readonly<Record<string, string>> {
  const repeated = [...new Set(query.keys())].filter((name) => query.getAll(name).length > 1);
  if (repeated.length === 0) return Object.fromEntries(query);
  throw invalidRequest(
    repeated.map((name) => ({ path: jsonPointer([name]), message: "must be given once" })),
  );
}

/**
 * Reads the parameter `limit` of a list.
 * @throws Problem `invalid_request` unless it is a whole number from 1 to `max`.
 */
export function limitOf(text: string | null | undefined, { fallback, max }: PageLimits): number {
  if (text === null || text === undefined) return fallback;
  const limit = Number(text);
  if (/^\d{1,5}$/.test(text) && limit >= 1 && limit <= max) return limit;
  const message = `must be a whole number from 1 to ${max}`;
  throw invalidRequest([{ path: "/limit", message }]);
}

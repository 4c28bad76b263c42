import { jsonPointer } from "./body.ts";
import { invalidRequest } from "./problem.ts";

/** Default (`fallback`) and largest (`max`) number of entries on one page of a list. */
export interface PageLimits {
  readonly fallback: number;
  readonly max: number;
}

/** Reads the parameters of a query as an object. @throws Problem `invalid_request` when one occurs twice. */
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

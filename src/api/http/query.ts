import * as z from "zod/mini";
import { jsonPointer } from "../../core/pointer.ts";
import { validate } from "./body.ts";
import { invalidRequest } from "./problem.ts";

/** Schema of a query that may have any parameters, which are all ignored. */
export const AnyQuery = z.object({});

/** Schema of an optional parameter that is `true` or `false`; false when it is absent. */
export const Flag = z.pipe(
  z.optional(z.enum(["true", "false"], "must be true or false")),
  z.transform((value) => value === "true"),
);

/**
 * Limits of a list's parameter `limit`: `max` is its largest value, and `fallback` the number of entries on a page when
 * the parameter is absent.
 */
interface PageLimits {
  readonly fallback: number;
  readonly max: number;
}

/** Returns the schema of a list's parameter `limit`, which sets the largest number of entries on a page. */
export function pageLimit({ fallback, max }: PageLimits) {
  return z._default(wholeNumber(1, max, `must be a whole number from 1 to ${max}`), fallback);
}

/** Returns the schema of a whole number from `min` to `max` (both included) that is written in decimal digits. */
export function wholeNumber(min: number, max: number, message: string) {
  const params = { message, abort: true };
  return z
    .pipe(z.string().check(z.regex(/^\d{1,16}$/, params)), z.transform(Number))
    .check(z.refine((value) => value >= min && value <= max, params));
}

/**
 * Reads the parameters in the query of a URL with a schema.
 * @throws Problem `invalid_request` with an issue for every parameter that is invalid, unknown or repeated.
 */
export function readQuery<S extends z.ZodMiniObject>(schema: S, url: URL): z.output<S> {
  return validate(schema, textsIn(schema, url), "parameter");
}

/**
 * Returns the parameters in the query of a URL as texts, by name.
 * @throws Problem `invalid_request` with an issue for every parameter of the schema that occurs more than once.
 */
export function textsIn({ shape }: z.ZodMiniObject, url: URL): Readonly<Record<string, string>> {
  // Most requests have no query, and need no object for it.
  if (url.search === "") return {};
  const query = url.searchParams;
  const repeated = Object.keys(shape).filter((name) => query.getAll(name).length > 1);
  if (repeated.length === 0) return Object.fromEntries(query);
  throw invalidRequest(
    repeated.map((name) => ({ path: jsonPointer([name]), message: "must be given once" })),
  );
}

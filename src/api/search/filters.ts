import * as z from "zod/mini";
import type { Filters } from "../../index-db/list.ts";
import { accountOf, type Caller } from "../../task-object/caller.ts";
import { jsonPointer, validate } from "../http/body.ts";
import { invalidRequest } from "../http/problem.ts";
import { limitOf, type PageLimits, queryOf } from "../http/query.ts";
import { AccountId } from "../http/fields.ts";

/**
 * Schema of a time in a query, in Unix seconds; a time in milliseconds has more than 11 digits and is
 * refused.
 */
export const QueryTimeS = z.optional(
  z.pipe(z.string().check(z.regex(/^\d{1,11}$/, "must be Unix seconds")), z.transform(Number)),
);

const Query = z.object({
  status: z.optional(z.enum(["pending", "processing", "completed", "failed"])),
  callback: z.optional(z.enum(["waiting", "sending", "delivered", "failed"])),
  model: z.optional(z.string().check(z.minLength(1), z.maxLength(256))),
  provider: z.optional(z.string().check(z.minLength(1), z.maxLength(64))),
  account: z.optional(AccountId),
  host: z.optional(z.string().check(z.minLength(1), z.maxLength(253), z.toLowerCase())),
  since: QueryTimeS,
  until: QueryTimeS,
  limit: z.optional(z.string()),
  cursor: z.optional(z.string().check(z.maxLength(512))),
  dry_run: z.optional(z.enum(["true", "false"])),
});

export interface ListQuery {
  readonly filters: Filters;
  readonly limit: number;
  readonly cursor: string | null;
  /**
   * True when `dry_run=true` asks a bulk redelivery only to count the tasks; false on a route without this
   * parameter.
   */
  readonly isDryRun: boolean;
}

export interface ListOptions extends PageLimits {
  readonly hasDryRun: boolean;
}

/**
 * Reads the parameters of a request for a list of tasks.
 * @throws Problem `invalid_request` with an issue for every invalid parameter.
 */
export function listQueryOf(
  query: URLSearchParams,
  caller: Caller,
  options: ListOptions,
): ListQuery {
  const given = validate(Query, queryOf(query));
  refuseUnknown(query, caller, options);
  return {
    filters: {
      status: given.status ?? null,
      callback: given.callback ?? null,
      model: given.model ?? null,
      host: given.host ?? null,
      provider: given.provider ?? null,
      account: accountOf(caller) ?? given.account ?? null,
      since: ms(given.since),
      until: ms(given.until),
    },
    limit: limitOf(given.limit, options),
    cursor: given.cursor ?? null,
    isDryRun: given.dry_run === "true",
  };
}

/**
 * Refuses a query with unknown parameters. From an account it also refuses `account`, because an account
 * lists only its own tasks, and `provider`, because an account must not learn the provider of its tasks.
 */
function refuseUnknown(query: URLSearchParams, caller: Caller, options: ListOptions): void {
  const withheld = accountOf(caller) === null ? [] : ["provider", "account"];
  const refused = [...(options.hasDryRun ? [] : ["dry_run"]), ...withheld];
  const known = Object.keys(Query.shape).filter((name) => !refused.includes(name));
  const unknown = [...new Set(query.keys())].filter((name) => !known.includes(name));
  if (unknown.length === 0) return;
  throw invalidRequest(
    unknown.map((name) => ({ path: jsonPointer([name]), message: "Unknown parameter" })),
  );
}

function ms(seconds: number | undefined): number | null {
  return seconds === undefined ? null : seconds * 1000;
}

import * as z from "zod";
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
export const QueryTimeS = z
  .string()
  .regex(/^\d{1,11}$/, "must be Unix seconds")
  .transform(Number)
  .optional();

const Query = z.object({
  status: z.enum(["pending", "processing", "completed", "failed"]).optional(),
  callback: z.enum(["waiting", "sending", "delivered", "failed"]).optional(),
  model: z.string().min(1).max(256).optional(),
  provider: z.string().min(1).max(64).optional(),
  account: AccountId.optional(),
  host: z.string().min(1).max(253).toLowerCase().optional(),
  since: QueryTimeS,
  until: QueryTimeS,
  limit: z.string().optional(),
  cursor: z.string().max(512).optional(),
  dry_run: z.enum(["true", "false"]).optional(),
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

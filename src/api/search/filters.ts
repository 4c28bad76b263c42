import * as z from "zod";
import type { Filters } from "../../index-db/list.ts";
import { accountOf, type Caller } from "../../task/caller.ts";
import { jsonPointer, queryOf, validate } from "../http/body.ts";
import { invalidRequest } from "../http/problem.ts";
import { AccountId } from "../schemas.ts";

/** A time of a query, which is text: so many digits, and milliseconds have more. */
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
  /** Of a route that has `dry_run`. */
  readonly isDryRun: boolean;
}

export interface Limits {
  readonly fallback: number;
  readonly max: number;
  readonly hasDryRun: boolean;
}

/** The query of a list. @throws Problem `invalid_request` that names every parameter at fault. */
export function listQueryOf(query: URLSearchParams, caller: Caller, limits: Limits): ListQuery {
  const given = validate(Query, queryOf(query));
  refuseUnknown(query, caller, limits);
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
    limit: limitOf(given.limit, limits),
    cursor: given.cursor ?? null,
    isDryRun: given.dry_run === "true",
  };
}

/** An account lists its own tasks, and does not see where they were made. */
function refuseUnknown(query: URLSearchParams, caller: Caller, limits: Limits): void {
  const withheld = accountOf(caller) === null ? [] : ["provider", "account"];
  const unknown = [...(limits.hasDryRun ? [] : ["dry_run"]), ...withheld];
  const names = Object.keys(Query.shape).filter((name) => !unknown.includes(name));
  const strange = [...new Set(query.keys())].filter((name) => !names.includes(name));
  if (strange.length === 0) return;
  throw invalidRequest(
    strange.map((name) => ({ path: jsonPointer([name]), message: "Unknown parameter" })),
  );
}

function ms(seconds: number | undefined): number | null {
  return seconds === undefined ? null : seconds * 1000;
}

function limitOf(text: string | undefined, { fallback, max }: Limits): number {
  const limit = Number(text ?? fallback);
  if (/^\d{0,4}$/.test(text ?? "") && limit >= 1 && limit <= max) return limit;
  const message = `must be a whole number from 1 to ${max}`;
  throw invalidRequest([{ path: "/limit", message }]);
}

import * as z from "zod/mini";
import type { Filters } from "../../index-db/list.ts";
import { CALLBACK_STATUSES } from "../../core/record/callback.ts";
import { OUTCOMES } from "../../core/record/outcome.ts";
import { REFUSAL_CLASSES } from "../../core/record/refusal.ts";
import { FAILURE_CATEGORIES } from "../../core/record/upstream.ts";
import { hostOf } from "../../core/url.ts";
import { accountOf, type Caller } from "../../objects/task/caller.ts";
import { jsonPointer } from "../../core/pointer.ts";
import { invalidRequest } from "../http/problem.ts";
import { Flag, pageLimit, wholeNumber } from "../http/query.ts";
import { AccountId } from "../http/fields.ts";

/**
 * Schema of a time in a query, in Unix seconds. A present time in milliseconds has more than 11 digits and is
 * refused.
 */
export const QueryTimeS = z.optional(
  z.pipe(z.string().check(z.regex(/^\d{1,11}$/, "must be Unix seconds")), z.transform(Number)),
);

/** Schemas of the parameters of every list of tasks: its filters, and the cursor of a page. */
const ListParameters = {
  status: z.optional(z.enum(["pending", "processing", "completed", "failed"])),
  category: z.optional(z.enum([...FAILURE_CATEGORIES, "unknown"])),
  submission: z.optional(z.enum(["queued", "sending", "accepted", "unknown", "refused"])),
  refusal: z.optional(z.enum(REFUSAL_CLASSES)),
  outputs: z.optional(z.enum(["lost"])),
  callback: z.optional(z.enum([...CALLBACK_STATUSES, "open"])),
  model: z.optional(z.string().check(z.minLength(1), z.maxLength(256))),
  provider: z.optional(z.string().check(z.minLength(1), z.maxLength(64))),
  account: z.optional(AccountId),
  host: z.optional(
    z.pipe(
      z.string().check(z.minLength(1), z.maxLength(259)),
      z.transform((host) => hostOf(`https://${host}`) ?? host),
    ),
  ),
  outcome: z.optional(z.enum(OUTCOMES)),
  status_code: z.optional(wholeNumber(100, 599, "must be a status code from 100 to 599")),
  job: z.optional(z.string().check(z.minLength(1), z.maxLength(512))),
  since: QueryTimeS,
  until: QueryTimeS,
  cursor: z.optional(z.string().check(z.maxLength(512))),
};

/**
 * Schema of the query parameters of `GET /v1/tasks`, which returns one page of a list of tasks or, with `count`, only
 * the number of tasks.
 */
export const TaskPage = z.strictObject({
  ...ListParameters,
  count: Flag,
  limit: pageLimit({ fallback: 50, max: 200 }),
});

/**
 * Schema of the query parameters of `POST /v1/redeliveries`, which redelivers the callbacks of one page of a list of
 * tasks. With `dry_run` the request only counts the tasks, and a page may have more of them.
 */
export const RedeliveryPage = z.strictObject({
  ...ListParameters,
  limit: pageLimit({ fallback: 100, max: 10_000 }),
  dry_run: Flag,
});

type ListQuery = z.output<z.ZodMiniObject<typeof ListParameters>>;

/**
 * Returns the filters of a list of tasks. An account may not filter by `account`, because it sees only its own tasks,
 * nor by `provider`, `job` or `refusal`, because it must not learn which providers the operator uses or what the
 * operator owes them.
 * @throws Problem `invalid_request` when an account uses one of these filters, and when `job` is given without `since`:
 * jobs are not indexed in the database, so the time range must limit the search.
 */
export function filtersOf(query: ListQuery, caller: Caller): Filters {
  const own = accountOf(caller);
  checkFilters(query, own !== null);
  return {
    status: orNull(query.status),
    category: orNull(query.category),
    submission: orNull(query.submission),
    refusal: orNull(query.refusal),
    outputs: orNull(query.outputs),
    callback: orNull(query.callback),
    model: orNull(query.model),
    host: orNull(query.host),
    provider: orNull(query.provider),
    account: own ?? orNull(query.account),
    outcome: orNull(query.outcome),
    statusCode: orNull(query.status_code),
    job: orNull(query.job),
    since: ms(query.since),
    until: ms(query.until),
  };
}

function checkFilters(query: ListQuery, isAccount: boolean): void {
  const withheld = isAccount ? (["provider", "account", "job", "refusal"] as const) : [];
  const refused = withheld.filter((name) => query[name] !== undefined);
  if (refused.length > 0) {
    throw invalidRequest(
      refused.map((name) => ({ path: jsonPointer([name]), message: "Unknown parameter" })),
    );
  }
  if (query.job !== undefined && query.since === undefined) {
    throw invalidRequest([{ path: "/since", message: "is required with job" }]);
  }
}

function orNull<T>(value: T | undefined): T | null {
  return value ?? null;
}

function ms(seconds: number | undefined): number | null {
  return seconds === undefined ? null : seconds * 1000;
}

import * as z from "zod/mini";
import { reportDays, type Spend, spentOf, sumOf } from "../../core/spend.ts";
import { DAY_MS, DAY_S } from "../../core/time.ts";
import type { SpendReport } from "../../objects/account/ledger-book.ts";
import type { Env } from "../../env.ts";
import { json } from "../http/answer.ts";
import { unavailable } from "../http/object-call.ts";
import { invalidRequest } from "../http/problem.ts";
import { routeOf } from "../http/route.ts";
import { NoBody, operation } from "../operation.ts";
import { QueryTimeS } from "../search/filters.ts";
import { callLedger } from "./account-client.ts";

const DEFAULT_DAYS = 30;
const MAX_DAYS = 366;
/** Largest number of calls that one request makes while the ledger counts entries, 5,000 with each call. */
const MAX_CALLS = 100;

/** Reads what an account has spent by day and by model, by default in the last 30 days. */
export const readAccountSpend = operation(
  "readAccountSpend",
  {
    access: "ledger",
    rateLimit: "LIMIT_LISTS",
    params: ["account"],
    query: z.strictObject({ since: QueryTimeS, until: QueryTimeS }),
    body: NoBody,
  },
  async ({ env, params: { account }, query }) => {
    const today = Math.floor(Date.now() / DAY_MS);
    const until =
      query.until === undefined ? today + 1 : Math.min(Math.ceil(query.until / DAY_S), today + 1);
    const since =
      query.since === undefined ? until - DEFAULT_DAYS : Math.floor(query.since / DAY_S);
    if (since >= until) throw invalidRequest([{ path: "/since", message: "must be before until" }]);
    if (until - since > MAX_DAYS) {
      const message = `must be at most ${MAX_DAYS} days before until`;
      throw invalidRequest([{ path: "/since", message }]);
    }
    const { createdAt } = await callLedger(env, account, (object) => object.describe());
    const begin = Math.min(Math.max(since, Math.floor(createdAt / DAY_MS)), until);
    const { balance, days, models } = await readReport(env, account, begin, until);
    const window = { since: begin, until };
    return { ...window, days: reportDays(balance, days, window), models };
  },
);

/**
 * Reads the report of the ledger, which it makes once all its entries are counted.
 * @throws Problem `unavailable` when there are too many to count for one request. The next request counts further ones.
 */
async function readReport(
  env: Env,
  account: string,
  since: number,
  until: number,
): Promise<SpendReport> {
  for (let calls = 0; calls < MAX_CALLS; calls++) {
    const report = await callLedger<SpendReport | "counting">(env, account, (object) =>
      object.spend(since, until),
    );
    if (report !== "counting") return report;
  }
  throw unavailable("The ledger is still counting.");
}

export const readAccountSpendRoute = routeOf(
  { method: "GET", path: "/v1/accounts/{account}/spend" },
  readAccountSpend,
  ({ since, until, days, models }) =>
    json({
      since: since * DAY_S,
      until: until * DAY_S,
      ...spendView(sumOf(days)),
      days: days.map(({ day, balance, ...spend }) => ({
        at: day * DAY_S,
        balance,
        ...spendView(spend),
      })),
      models: models.map(({ model, ...spend }) => ({ model, ...spendView(spend) })),
    }),
);

function spendView(spend: Spend) {
  const { charged, refunded, released, charges, refunds } = spend;
  return { spent: spentOf(spend), charged, refunded, released, charges, refunds };
}

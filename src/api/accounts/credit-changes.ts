import type { CreditAnswer } from "../../objects/account/ledger-book.ts";
import { log } from "../../lib/log.ts";
import { keyNameOf } from "../../objects/task/caller.ts";
import { json } from "../http/answer.ts";
import { unknownAnswer } from "../http/object-call.ts";
import { invalidRequest, Problem } from "../http/problem.ts";
import { routeOf } from "../http/route.ts";
import { NoQuery, operation } from "../operation.ts";
import { callLedger } from "./account-client.ts";
import { Adjustment, Grant } from "./account-schemas.ts";

/** Grants credits to an account. A request that repeats the reference of an earlier grant books nothing more. */
export const grantCredits = operation(
  "grantCredits",
  { access: "administer", params: ["account"], query: NoQuery, body: Grant },
  async ({ env, params: { account }, caller, body }) => {
    const by = keyNameOf(caller);
    const answer = await callLedger<CreditAnswer>(env, account, (object) => object.grant(body, by));
    logBooking("credits.grant", account, body.amount, answer, by);
    return bookingOf(body, answer, "Another amount was granted under this reference.");
  },
);

export const grantCreditsRoute = routeOf(
  { method: "POST", path: "/v1/accounts/{account}/grants" },
  grantCredits,
  ({ isNew, booking }) => json(booking, isNew ? 201 : 200),
);

/**
 * Adds credits to the balance of an account, or takes credits from it. A request that repeats the reference of an
 * earlier adjustment books nothing more.
 */
const adjustCredits = operation(
  "adjustCredits",
  { access: "administer", params: ["account"], query: NoQuery, body: Adjustment },
  async ({ env, params: { account }, caller, body }) => {
    const by = keyNameOf(caller);
    const answer = await callLedger<CreditAnswer>(env, account, (object) =>
      object.adjust(body, by),
    );
    logBooking("credits.adjustment", account, body.amount, answer, by);
    return bookingOf(body, answer, "Another adjustment was booked under this reference.");
  },
);

export const adjustCreditsRoute = routeOf(
  { method: "POST", path: "/v1/accounts/{account}/adjustments" },
  adjustCredits,
  ({ isNew, booking }) => json(booking, isNew ? 201 : 200),
);

function logBooking(
  event: string,
  account: string,
  amount: number,
  answer: CreditAnswer,
  by: string | null,
): void {
  log({ event, account, amount, outcome: answer.kind, by });
}

/**
 * Returns the booking of a grant or an adjustment from the ledger's answer. The ledger has made the booking now, or
 * earlier under the same reference.
 * @param reused text of the refusal when the reference belongs to another booking.
 * @throws Problem `reference_reused` when the reference belongs to another booking; `invalid_request` when the amount
 * exceeds what an account can hold.
 */
function bookingOf<Body extends object>(body: Body, answer: CreditAnswer, reused: string) {
  switch (answer.kind) {
    case "booked":
    case "repeated":
      return {
        isNew: answer.kind === "booked",
        booking: { ...body, balance: answer.balance },
      };
    case "reference_reused":
      throw new Problem("reference_reused", { detail: reused });
    case "too_large":
      throw invalidRequest([{ path: "/amount", message: "exceeds what an account can hold" }]);
    default:
      throw unknownAnswer(answer);
  }
}

import type { CreditAnswer } from "../../account/ledger-book.ts";
import { log } from "../../log.ts";
import { keyNameOf } from "../../task-object/caller.ts";
import { json } from "../http/answer.ts";
import { unknownAnswer } from "../http/object-call.ts";
import { invalidRequest, Problem } from "../http/problem.ts";
import { bodyRoute } from "../http/route.ts";
import { callLedger } from "./account-client.ts";
import { Adjustment, Grant } from "./account-schemas.ts";

export const grantCredits = bodyRoute(
  {
    id: "grantCredits",
    method: "POST",
    path: "/v1/accounts/{account}/grants",
    access: "administer",
  },
  Grant,
  async ({ env, params: { account }, caller, body }) => {
    const by = keyNameOf(caller);
    const answer = await callLedger<CreditAnswer>(env, account, (object) => object.grant(body, by));
    logBooking("credits.grant", account, body.amount, answer, by);
    return creditResponse(body, answer, "Another amount was granted under this reference.");
  },
);

export const adjustCredits = bodyRoute(
  {
    id: "adjustCredits",
    method: "POST",
    path: "/v1/accounts/{account}/adjustments",
    access: "administer",
  },
  Adjustment,
  async ({ env, params: { account }, caller, body }) => {
    const by = keyNameOf(caller);
    const answer = await callLedger<CreditAnswer>(env, account, (object) =>
      object.adjust(body, by),
    );
    logBooking("credits.adjustment", account, body.amount, answer, by);
    return creditResponse(body, answer, "Another adjustment was booked under this reference.");
  },
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
 * Converts the ledger's answer to a grant or an adjustment to an HTTP response.
 * @throws Problem `reference_reused` when the reference belongs to another booking; `invalid_request` for an
 * amount beyond what an account can hold.
 */
function creditResponse(body: object, answer: CreditAnswer, reused: string): Response {
  switch (answer.kind) {
    case "booked":
      return json({ ...body, balance: answer.balance }, 201);
    case "repeated":
      return json({ ...body, balance: answer.balance }, 200);
    case "reference_reused":
      throw new Problem("reference_reused", { detail: reused });
    case "too_large":
      throw invalidRequest([{ path: "/amount", message: "exceeds what an account can hold" }]);
    default:
      throw unknownAnswer(answer);
  }
}

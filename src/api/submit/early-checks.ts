/**
 * Checks of a submission that are made before its body is read, so that no memory is used for the body of a request
 * that will be refused anyway.
 */
import type { Runtime } from "../../config/runtime.ts";
import type { ConnectionOffers, PlacedOffers } from "../../core/offers/offer-list.ts";
import { canKeepAnswers } from "../../config/output-config.ts";
import type { Env } from "../../env.ts";
import type { AccountState } from "../../objects/account/account-object.ts";
import { settingsOf } from "../../objects/account/account-profile.ts";
import { accountOf, type Caller } from "../../objects/task/caller.ts";
import { callLedger } from "../accounts/account-client.ts";
import { Problem } from "../http/problem.ts";
import { insufficientCredits, monthlyLimitReached, taskClient } from "../tasks/task-client.ts";
import { type BodyReservation, SMALL_BODY_BYTES } from "./body-budget.ts";
import { placeRefusal } from "./offer-decision.ts";
import { RESPOND_ASYNC } from "./preference.ts";
import type { SubmitPlace } from "./prepared-call.ts";
import type { UpstreamCall } from "./upstream-call.ts";

/**
 * Returns those of an account's offers at a connection that may apply to its call at this path with this kind of key.
 * Null for an operator.
 * @param offers the account's offers at the connection. Null for an operator, who needs no offer.
 * @throws Problem `forbidden` when no offer can apply.
 */
export function requireOffers(
  offers: ConnectionOffers | null,
  { connection }: SubmitPlace,
  { keyOwner, path }: UpstreamCall,
): PlacedOffers | null {
  if (offers === null) return null;
  const placed = offers.at(keyOwner, path);
  if (!placed.isEmpty) return placed;
  const detail = placeRefusal(offers, { connection: connection.name, keyOwner });
  throw new Problem("forbidden", { detail });
}

/**
 * Checks that a client waits for the upstream's response where it can, and that it does not where it must not.
 * @throws Problem `prefer_required` when the relay must make the call itself, because it stores what the response
 * contains; `not_configured` when it could not store that.
 */
export function requireMode(
  { target }: SubmitPlace,
  { isAsync }: UpstreamCall,
  { config }: Runtime,
): void {
  if (!isAsync) {
    if (target.needsCall !== true) return;
    const detail = `The answer at this path can take minutes and contain files: send Prefer: ${RESPOND_ASYNC}, and the relay answers with the task at once.`;
    throw new Problem("prefer_required", { detail });
  }
  if (target.answer !== "result" || canKeepAnswers(config)) return;
  const detail = `With Prefer: ${RESPOND_ASYNC}, the answer at this path is kept in the bucket for outputs, behind links that begin with PUBLIC_URL: one of both is not set up. docs/outputs.md says how a bucket is set up.`;
  throw new Problem("not_configured", { detail, headers: { "Retry-After": "60" } });
}

/** The submission for whose body memory is to be reserved. */
export interface ReservedFor {
  readonly env: Env;
  readonly runtime: Runtime;
  readonly caller: Caller;
  readonly taskId: string;
  /** The offers that may apply. Null for a submission of an operator. */
  readonly offers: PlacedOffers | null;
}

/**
 * Returns a function that reserves memory for the body of a submission while the body arrives. Before it reserves
 * memory for a large body, it checks that the account has the credits for the cheapest offer that may apply, and may
 * still spend them in this month, if the relay's own ledger charges the price.
 */
export function reserving(memory: BodyReservation, reservedFor: ReservedFor) {
  let hasFunds: Promise<void> | null = null;
  return async (bytes: number): Promise<void> => {
    if (bytes <= SMALL_BODY_BYTES) return;
    await (hasFunds ??= requireFunds(reservedFor));
    memory.growTo(bytes);
  };
}

/**
 * Checks that an account can pay the cheapest of the offers that may apply to its submission, and may pay it in this
 * month.
 * @throws Problem `insufficient_credits` or `monthly_limit` when it cannot or may not.
 */
export async function requireFunds(reservedFor: ReservedFor): Promise<void> {
  const { env, runtime, caller, taskId, offers } = reservedFor;
  // With SETTLEMENT_URL the ledger charges nothing, so that its balances decide nothing.
  if (runtime.config.settlementUrl !== null) return;
  const account = accountOf(caller);
  if (account === null || offers === null || offers.leastCredits === 0) return;
  const state = await callLedger(env, account, (object) => object.describe());
  const refusal = refusalOf(state, offers);
  // A repeated submission is not charged again.
  if (refusal === null || (await taskClient(env, taskId).read(caller)) !== null) return;
  throw refusal;
}

/** Returns the problem of an account that cannot or may not pay the cheapest of these offers. Null when it can. */
function refusalOf(state: AccountState, offers: PlacedOffers): Problem | null {
  const { leastCredits: price, areForSameAccounts } = offers;
  // A general price, in whose place the account has its own, is not told.
  const told = areForSameAccounts ? price : null;
  const { balance, monthSpent: spent } = state;
  const { monthlyLimit: limit } = settingsOf(state);
  if (balance < price) return insufficientCredits(balance, told);
  if (limit === null || spent + price <= limit) return null;
  return monthlyLimitReached({ limit, spent }, told);
}

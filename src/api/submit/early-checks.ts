/**
 * Checks of a submission before its body is read, so that a request that can only be refused takes no memory for its body.
 */
import type { Runtime } from "../../config/runtime.ts";
import type { Offer } from "../../config/offers.ts";
import type { Env } from "../../env.ts";
import { accountOf, type Caller } from "../../objects/task/caller.ts";
import { callLedger } from "../accounts/account-client.ts";
import { Problem } from "../http/problem.ts";
import { insufficientCredits, taskClient } from "../tasks/task-client.ts";
import { type BodyReservation, SMALL_BODY_BYTES } from "./body-budget.ts";
import { offersAt } from "./offer.ts";
import type { SubmitPlace } from "./prepared-call.ts";
import type { UpstreamCall } from "./upstream-call.ts";

/**
 * Returns the offers of which one is for the call of an account; none for an operator's call, which needs no offer.
 * @throws Problem `forbidden` when nothing is offered at this path with this key.
 */
export function requireOffers(
  { connection }: SubmitPlace,
  { keyOwner, path }: UpstreamCall,
  caller: Caller,
  { config }: Runtime,
): readonly Offer[] {
  if (accountOf(caller) === null) return [];
  const found = offersAt(config.offers, { connection: connection.name, keyOwner, path });
  if (found.kind === "offers") return found.offers;
  throw new Problem("forbidden", { detail: found.detail });
}

/** The submission for whose body memory is reserved. */
interface ReservedFor {
  readonly env: Env;
  readonly runtime: Runtime;
  readonly caller: Caller;
  readonly taskId: string;
  readonly offers: readonly Offer[];
}

/**
 * Returns the function that reserves memory for the body of a submission while it arrives. Before a body takes memory, its
 * account must have the credits of the cheapest offer that it can be for, where the relay's own ledger charges it.
 */
export function reserving(memory: BodyReservation, reservedFor: ReservedFor) {
  let hasFunds: Promise<void> | null = null;
  return async (bytes: number): Promise<void> => {
    if (bytes <= SMALL_BODY_BYTES) return;
    await (hasFunds ??= requireFunds(reservedFor));
    memory.growTo(bytes);
  };
}

/** @throws Problem `insufficient_credits` when the account cannot pay any of the offers. */
async function requireFunds(reservedFor: ReservedFor): Promise<void> {
  const { env, runtime, caller, taskId, offers } = reservedFor;
  // With SETTLEMENT_URL the ledger charges nothing, so that its balances decide nothing.
  if (runtime.config.settlementUrl !== null) return;
  const account = accountOf(caller);
  const price = Math.min(...offers.map((offer) => offer.price?.credits ?? 0));
  if (account === null || price === 0) return;
  const { balance } = await callLedger(env, account, (object) => object.describe());
  if (balance >= price) return;
  // A repeated submission is not charged again.
  if ((await taskClient(env, taskId).read(caller)) !== null) return;
  throw insufficientCredits(balance, price);
}

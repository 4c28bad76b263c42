/**
 * Checks of a submission that are made before its body is read, so that no memory is used for the body of a request
 * that will be refused anyway.
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
 * Returns the offers that may apply to an account's call at this path with this kind of key. Returns none for an
 * operator, who needs no offer.
 * @throws Problem `forbidden` when no offer can apply.
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

/** The submission for whose body memory is to be reserved, with the offers that may apply to it. */
interface ReservedFor {
  readonly env: Env;
  readonly runtime: Runtime;
  readonly caller: Caller;
  readonly taskId: string;
  readonly offers: readonly Offer[];
}

/**
 * Returns a function that reserves memory for the body of a submission while the body arrives. Before it reserves
 * memory for a large body, it checks that the account has the credits for the cheapest offer that may apply, if the
 * relay's own ledger charges the price.
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
 * Checks that an account can pay the cheapest of the offers that may apply to its submission.
 * @throws Problem `insufficient_credits` when it cannot.
 */
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

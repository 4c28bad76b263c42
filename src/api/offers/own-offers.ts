import type { Context } from "../operation.ts";
import { type CustomerOffer, customerOffer } from "./customer-offer.ts";
import { visibleOffersTo } from "./offers-of-relay.ts";

/** Returns the offers of an account, as it reads them. */
export async function ownOffers(
  account: string,
  context: Pick<Context, "env" | "runtime" | "origin">,
): Promise<readonly CustomerOffer[]> {
  const { connections, publicUrl } = context.runtime.config;
  const origin = publicUrl ?? context.origin;
  const visible = await visibleOffersTo(account, context);
  return visible.flatMap((each) => {
    const connection = connections.get(each.offer.connection);
    const own = connection === undefined ? null : customerOffer(each, connection, origin);
    return own ?? [];
  });
}

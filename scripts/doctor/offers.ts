import * as z from "zod";
import { type Finding, ok, warning } from "./finding.ts";

/** Offers as `/healthz` shows them, without the members that are not checked here. */
export const Offers = z.array(
  z.looseObject({
    connection: z.string(),
    key: z.nullable(z.literal("customer")),
    limits: z.record(z.string(), z.unknown()),
    price: z.nullable(z.looseObject({ per: z.optional(z.unknown()) })),
  }),
);
type Offer = z.output<typeof Offers>[number];

/** The connections without an API key, with the settings that each needs; none for the sandbox. */
type WithoutKey = Readonly<Record<string, { readonly needs: readonly string[] }>>;

/** Checks what accounts may submit. No finding when nothing is offered. */
export function offerFindings(offers: readonly Offer[], withoutKey: WithoutKey): Finding[] {
  if (offers.length === 0) return [];
  const warnings = offers.flatMap((offer, i) => offerWarnings(offer, `OFFERS at ${i}`, withoutKey));
  return warnings.length > 0 ? warnings : [ok(`offers: ${offers.length} in OFFERS`)];
}

function offerWarnings(
  { connection, key, limits, price }: Offer,
  place: string,
  withoutKey: WithoutKey,
): Finding[] {
  const found: Finding[] = [];
  // The customer pays the upstream, and its key is the one that is needed.
  if (key === "customer") return found;
  if (price !== null && Object.keys(limits).length === 0) {
    const text =
      price.per == null
        ? `offers: ${place} has the same price for every request to ${connection}, without limits`
        : `offers: ${place} has no limits, so a job at ${connection} may cost more than the hold of its price`;
    const cure =
      "add limits of what the upstream bills, such as /duration and /resolution, and deploy";
    found.push(warning(text, cure));
  }
  const [needed] = withoutKey[connection]?.needs ?? [];
  if (needed !== undefined) {
    const text = `offers: ${place} names ${connection}, which has no API key`;
    found.push(warning(text, `set ${needed} and deploy`));
  }
  return found;
}

import * as z from "zod";
import { type Finding, ok, problem, unchecked, warning } from "./finding.ts";
import type { Relay } from "./relay.ts";

/** A page of offers as `GET /v1/offers` shows them, without the members that are not checked here. */
const Page = z.object({
  data: z.array(
    z.looseObject({
      name: z.string(),
      disabled: z.nullable(z.object({ path: z.string(), message: z.string() })),
      offer: z.nullable(
        z.looseObject({
          connection: z.string(),
          key: z.nullable(z.literal("customer")),
          limits: z.record(z.string(), z.unknown()),
          price: z.nullable(z.looseObject({ per: z.optional(z.unknown()) })),
        }),
      ),
    }),
  ),
  next_cursor: z.nullable(z.string()),
});
type Shown = z.output<typeof Page>["data"][number];

/** The connections without an API key, with the settings that each needs; none for the sandbox. */
type WithoutKey = Readonly<Record<string, { readonly needs: readonly string[] }>>;

/**
 * Checks what accounts may submit, by the offers that the relay shows.
 * @param apply what makes a change of a variable take effect.
 * @throws NoAnswer
 */
export async function checkOffers(
  relay: Relay,
  withoutKey: WithoutKey,
  apply: string,
): Promise<Finding[]> {
  const offers: Shown[] = [];
  for (let cursor: string | null = ""; cursor !== null;) {
    const answer = await relay.ask(`/v1/offers?limit=500&cursor=${cursor}`);
    const page = Page.safeParse(answer.json);
    if (!page.success) {
      return [unchecked(`offers: they cannot be read with this key (status ${answer.status})`)];
    }
    offers.push(...page.data.data);
    cursor = page.data.next_cursor;
  }
  return offerFindings(offers, withoutKey, apply);
}

/** Returns the findings about offers; none when nothing is offered. */
export function offerFindings(
  offers: readonly Shown[],
  withoutKey: WithoutKey,
  apply: string,
): Finding[] {
  if (offers.length === 0) return [];
  const found = offers.flatMap((offer) => [
    ...disabledFinding(offer),
    ...doubts(offer, withoutKey, apply),
  ]);
  return found.length > 0 ? found : [ok(`offers: ${offers.length}`)];
}

/** Returns a problem for an offer by which nothing can be submitted. */
function disabledFinding({ name, disabled }: Shown): Finding[] {
  if (disabled === null) return [];
  const { path, message } = disabled;
  const cure = `correct ${path} of the offer, or the connection, or delete the offer (docs/accounts.md#offers)`;
  return [problem(`offers: ${name} is disabled: ${path} ${message}`, cure)];
}

function doubts(
  { name, disabled, offer }: Shown,
  withoutKey: WithoutKey,
  apply: string,
): Finding[] {
  if (offer === null || disabled !== null) return [];
  const { connection, key, limits, price } = offer;
  const found: Finding[] = [];
  // The customer pays the upstream, and its key is the one that is needed.
  if (key === "customer") return found;
  if (price !== null && Object.keys(limits).length === 0) {
    const text =
      price.per == null
        ? `offers: ${name} has the same price for every request to ${connection}, without limits`
        : `offers: ${name} has no limits, so a job at ${connection} may cost more than the hold of its price`;
    const cure = "add limits of what the upstream bills, such as /duration and /resolution";
    found.push(warning(text, cure));
  }
  const [needed] = withoutKey[connection]?.needs ?? [];
  if (needed !== undefined) {
    const text = `offers: ${name} names ${connection}, which has no API key`;
    found.push(warning(text, `set ${needed} and ${apply}`));
  }
  return found;
}

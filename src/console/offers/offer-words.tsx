import type { Audience, Limit, Offer } from "../../core/offers/offer.ts";
import type { Price } from "../../core/record/price-rule.ts";
import { issueOf, type ShownOffer } from "../../api/offers/offer-view.ts";
import { priceText } from "../../api/offers/price-text.ts";
import { Chip } from "../parts/chip.tsx";

/** Returns the price of an offer in a few words. */
export function shortPrice(price: Price | null): string {
  if (price === null) return "free";
  if (price.rule === null) return `${price.credits} credits`;
  return shownPrice(priceText(price)).replace(/\..*/s, "");
}

/** Returns the sentence that states a price, without its first word. */
export function shownPrice(text: string): string {
  return text.replace(/^Price: /, "");
}

/** Returns for whom an offer is. */
export function audienceText(audience: Audience | null): string {
  if (audience === null) return "all";
  return [...audience.accounts, ...audience.tags.map((tag) => `tag:${tag}`)].join(", ");
}

/** The limits of an offer, each with its place in the call. */
export function Limits({ limits }: Pick<Offer, "limits">) {
  if (limits.length === 0) return <p class="muted">No limits.</p>;
  return (
    <ul>
      {limits.map((limit) => (
        <li>
          <code>{limit.pointer}</code> {limitText(limit)}
        </li>
      ))}
    </ul>
  );
}

function limitText({ values, min, max, isOptional }: Limit): string {
  const range = [min === null ? "" : `from ${min}`, max === null ? "" : `to ${max}`];
  const permitted = values?.join(", ") ?? range.filter((each) => each !== "").join(" ");
  return isOptional ? `${permitted}, or left out` : permitted;
}

/** Shows whether an offer is in use and, if it is not, the reason. */
export function State({ fault }: Pick<ShownOffer, "fault">) {
  if (fault === null) return <Chip tone="ok" icon="check" word="in use" />;
  const { path, message } = issueOf(fault);
  return (
    <>
      <Chip tone="bad" icon="block" word="disabled" />
      <p class="small">
        {path.slice(1)} {message}
      </p>
    </>
  );
}

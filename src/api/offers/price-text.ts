import type { Price, Rate } from "../../core/record/price-rule.ts";

/**
 * Returns a sentence that states the price of a job, for a model that decides whether to submit the job.
 * @param price null when the job costs nothing.
 */
export function priceText(price: Price | null): string {
  if (price === null) return "Price: none.";
  const { credits, rule } = price;
  if (rule === null) return `Price: ${credits} credits, returned if the job fails.`;
  const { name, units, rate, min } = rule;
  return [
    `Price: ${ratesText(rate)} for ${units} of ${name}, at least ${min} and at most ${credits} credits.`,
    `${credits} credits are charged first. What a completed job has not cost is returned, and all of it if the job fails.`,
  ].join(" ");
}

function ratesText(rate: Rate): string {
  if (typeof rate === "number") return `${rate} credits`;
  return Object.entries(rate)
    .map(([resolution, credits]) => `${credits} credits at ${resolution}`)
    .join(" or ");
}

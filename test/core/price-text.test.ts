import { expect, it } from "vitest";
import { priceText } from "../../src/api/offers/price-text.ts";
import type { PriceRule } from "../../src/core/record/price-rule.ts";

const BY_TOKENS: PriceRule = {
  by: "usage",
  name: "completion_tokens",
  units: 1_000_000,
  rate: 15_000,
  min: 10,
};
const BY_SECONDS: PriceRule = {
  by: "field",
  name: "duration",
  units: 1,
  rate: { "720p": 5, "1080p": 9.5 },
  min: 0,
};
const CHARGED_FIRST =
  "200 credits are charged first. What a completed job has not cost is returned, and all of it if the job fails.";

it.each([
  ["no price", null, "Price: none."],
  ["a fixed price", { credits: 60, rule: null }, "Price: 60 credits, returned if the job fails."],
  [
    "a price by usage",
    { credits: 200, rule: BY_TOKENS },
    `Price: 15000 credits for 1000000 of completion_tokens, at least 10 and at most 200 credits. ${CHARGED_FIRST}`,
  ],
  [
    "a price by duration with rates by resolution",
    { credits: 200, rule: BY_SECONDS },
    `Price: 5 credits at 720p or 9.5 credits at 1080p for 1 of duration, at least 0 and at most 200 credits. ${CHARGED_FIRST}`,
  ],
])("the description of a tool for agents states what its offer costs: %s", (_, price, text) => {
  expect(priceText(price)).toBe(text);
});

import { expect, it } from "vitest";
import ACCOUNTS_PAGE from "../../docs/accounts.md?raw";
import { VARIABLE_DESCRIPTIONS } from "../../scripts/docs/variables.ts";
import { parseOffer, parseOffers } from "../../src/config/offers.ts";

const [, page = ""] = /```json\n(\{\s+"title"[^`]+)```/.exec(ACCOUNTS_PAGE) ?? [];
const [, table = ""] = /`(\[[^`]+)`/.exec(VARIABLE_DESCRIPTIONS["OFFERS"]?.meaning ?? "") ?? [];
const refusal = parseOffers("offers");
const [, message = ""] = /(\[.+)$/.exec(refusal.ok ? "" : refusal.error) ?? [];

it.each([
  ["docs/configuration.md", table],
  ["the message about a value that is not JSON", message],
])("the relay accepts the example of OFFERS in %s", (_, example) => {
  expect(parseOffers(example)).toMatchObject({ ok: true, value: [{ connection: "ark" }] });
});

it("the relay accepts the example of an offer in docs/accounts.md", () => {
  expect(parseOffer(JSON.parse(page), "seedance", 1)).toMatchObject({
    ok: true,
    value: { connection: "ark" },
  });
});

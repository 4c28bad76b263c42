import * as fc from "fast-check";
import { expect, it } from "vitest";
import { OfferList } from "../../src/core/offers/offer-list.ts";
import type { Offer } from "../../src/core/offers/offer.ts";
import { visibleOffers } from "../../src/core/offers/visible-offers.ts";

const ACME = { account: "acme", tags: ["gold"] };

function anOffer(name: string, changes: Partial<Offer> = {}): Offer {
  return {
    name,
    version: 1,
    title: null,
    description: null,
    audience: null,
    rank: 100,
    connection: "ark",
    keyOwner: "connection",
    path: null,
    models: ["m"],
    limits: [],
    price: null,
    takesUploads: false,
    tool: null,
    ...changes,
  };
}

const forAccount = (...accounts: string[]) => ({ audience: { accounts, tags: [] } });
const forTag = (...tags: string[]) => ({ audience: { accounts: [], tags } });

/** Returns the names of the offers that an account sees, with their models. */
function seen(offers: readonly Offer[], buyer = ACME): Readonly<Record<string, readonly string[]>> {
  const visible = visibleOffers(new OfferList(offers), buyer);
  return Object.fromEntries(visible.map(({ offer, models }) => [offer.name, models]));
}

it("of a general offer, one of a tag and one of the account for the same model, an account sees only the one by which it pays", () => {
  const general = anOffer("general");
  const gold = anOffer("gold", forTag("gold"));
  const own = anOffer("own", forAccount("acme"));
  const other = anOffer("other", forAccount("globex"));
  expect(seen([general, gold, own, other])).toEqual({ own: ["m"] });
  expect(seen([general, gold, other])).toEqual({ gold: ["m"] });
  expect(seen([general, other])).toEqual({ general: ["m"] });
  expect(seen([general, gold, own], { account: "initech", tags: [] })).toEqual({ general: ["m"] });
});

it("a general offer stays visible with the models that the account's own offer does not have", () => {
  const own = anOffer("own", { ...forAccount("acme"), models: ["seedance-*"] });
  const general = anOffer("general", { models: ["seedance-1", "seedance-*", "wan-*", "*"] });
  expect(seen([general, own])).toEqual({ own: ["seedance-*"], general: ["wan-*", "*"] });
});

it.each<[string, Partial<Offer>]>([
  ["for another path", { path: "/v2" }],
  ["at another connection", { connection: "fal" }],
  ["for customers with a key of their own", { keyOwner: "customer" }],
])("an offer of the account hides no general offer %s", (_, changes) => {
  const general = anOffer("general", { path: "/v1", ...changes });
  const own = anOffer("own", { ...forAccount("acme"), path: "/v1" });
  expect(Object.keys(seen([general, own]))).toEqual(expect.arrayContaining(["general", "own"]));
});

it("an offer for every path hides later offers for one path, and is not hidden by an offer for one path", () => {
  const every = anOffer("every");
  const one = anOffer("one", { path: "/v1" });
  expect(seen([every, { ...one, rank: 200 }])).toEqual({ every: ["m"] });
  expect(seen([every, { ...one, rank: 0 }])).toEqual({ one: ["m"], every: ["m"] });
});

const Glob = fc.constantFrom("*", "a*", "*b", "ab*", "a", "ab", "abb", "b");
const AnOffer = fc.record({
  audience: fc.constantFrom(
    null,
    { accounts: ["acme"], tags: [] },
    { accounts: [], tags: ["gold"] },
    { accounts: ["globex"], tags: [] },
  ),
  rank: fc.nat(3),
  path: fc.constantFrom(null, "/v1", "/v2"),
  models: fc.array(Glob, { minLength: 1, maxLength: 3 }),
});

it("every call that an account may make is priced by an offer that it sees, and every offer that it sees prices a call of each of its models", () => {
  const world = fc.array(AnOffer, { maxLength: 6 });
  const call = fc.record({
    path: fc.constantFrom("/v1", "/v2", "/v3"),
    model: fc.constantFrom("a", "ab", "abb", "b", "xb", "ax", "abx", "x"),
  });
  fc.assert(
    fc.property(world, call, (drafts, { path, model }) => {
      const list = new OfferList(drafts.map((draft, i) => anOffer(`offer-${i}`, draft)));
      const visible = visibleOffers(list, ACME);
      const keyOwner = "connection";
      const nameOf = (asked: { path: string; model: string }) =>
        list.offersAt("ark", ACME).at(keyOwner, asked.path).first(asked.model)?.offer.name ?? null;
      const paid = nameOf({ path, model });
      if (paid !== null) expect(visible.map(({ offer }) => offer.name)).toContain(paid);
      for (const { offer, models } of visible) {
        // No other glob has these letters, so that only globs that match all names of this one match this name.
        for (const glob of models) {
          const asked = { path: offer.path ?? "/v3", model: glob.replaceAll("*", "yy") };
          expect(nameOf(asked)).toBe(offer.name);
        }
      }
    }),
  );
});

it("an account sees 5,000 offers with five globs each without comparing each glob with all earlier ones", () => {
  const offers = Array.from({ length: 5_000 }, (_, i) =>
    anOffer(`o${i}`, { models: [1, 2, 3, 4, 5].map((part) => `model-${i}-${part}-*`) }),
  );
  expect(Object.keys(seen(offers)).length).toBe(5_000);
});

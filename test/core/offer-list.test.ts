import { expect, it } from "vitest";
import { firstFor, OfferList } from "../../src/core/offers/offer-list.ts";
import type { Offer } from "../../src/core/offers/offer.ts";

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

const forAccounts = (...accounts: string[]) => ({ audience: { accounts, tags: [] } });
const forTags = (...tags: string[]) => ({ audience: { accounts: [], tags } });
const ACME = { account: "acme", tags: ["gold", "eu"] };

/** Returns the names of an account's offers at the connection `ark`, with the reasons why they are for it. */
function offersOf(offers: readonly Offer[], buyer = ACME): readonly (readonly [string, unknown])[] {
  return new OfferList(offers).at("ark", buyer).map(({ offer, reason }) => [offer.name, reason]);
}

const GENERAL = { kind: "general" };

it("an account's own offers come before those of its tags, and these before those for all accounts, whatever their rank; each has the reason why it is for the account", () => {
  const offers = [
    anOffer("all", { rank: 0 }),
    anOffer("eu", { ...forTags("eu"), rank: 1 }),
    anOffer("own", { ...forAccounts("globex", "acme"), rank: 2 }),
  ];
  expect(offersOf(offers)).toEqual([
    ["own", { kind: "account" }],
    ["eu", { kind: "tag", tag: "eu" }],
    ["all", GENERAL],
  ]);
});

it("offers for other accounts, for tags that an account does not have and of other connections are not among its offers", () => {
  const offers = [
    anOffer("other", forAccounts("globex")),
    anOffer("silver", forTags("silver")),
    anOffer("fal", { connection: "fal" }),
    anOffer("all"),
  ];
  expect(offersOf(offers)).toEqual([["all", GENERAL]]);
  expect(offersOf(offers, { account: "gold", tags: [] })).toEqual([["all", GENERAL]]);
  expect(new OfferList(offers).at("none", ACME)).toEqual([]);
});

it("among offers of an account's tags, among its own and among those for all, the lower rank comes first, and of equal ranks the one that is given first", () => {
  for (const audience of [forTags("gold"), forAccounts("acme"), {}]) {
    const offers = [
      anOffer("c", { ...audience, rank: 5 }),
      anOffer("b", { ...audience, rank: 4 }),
      anOffer("a", { ...audience, rank: 5 }),
    ];
    expect(offersOf(offers).map(([name]) => name)).toEqual(["b", "c", "a"]);
  }
  const mixed = [anOffer("gold", forTags("gold")), anOffer("eu", { ...forTags("eu"), rank: 1 })];
  expect(offersOf(mixed).map(([name]) => name)).toEqual(["eu", "gold"]);
});

it("an offer that names both an account and tags of the account is listed once, as the account's own", () => {
  const both = anOffer("both", { audience: { accounts: ["acme"], tags: ["gold", "eu"] } });
  expect(offersOf([both])).toEqual([["both", { kind: "account" }]]);
});

it("the offer for a call is the first that has its key owner, path and model", () => {
  const call = { keyOwner: "connection", path: "/v1", model: "m-2" } as const;
  const nameOf = (...offers: readonly Offer[]) =>
    firstFor(new OfferList(offers).at("ark", ACME), call)?.offer.name;
  const any = anOffer("any", { models: ["*"] });
  expect(nameOf(any)).toBe("any");
  expect(nameOf(anOffer("own-key", { models: ["*"], keyOwner: "customer" }), any)).toBe("any");
  expect(nameOf(anOffer("path", { models: ["*"], path: "/v2" }), any)).toBe("any");
  expect(nameOf(anOffer("model", { models: ["m", "n*"] }), any)).toBe("any");
  expect(nameOf(anOffer("exact", { models: ["x", "m-*"], path: "/v1" }), any)).toBe("exact");
  expect(nameOf(anOffer("x", { models: ["x"] }))).toBe(undefined);
});

it("an offer is found by its name, and no other", () => {
  const list = new OfferList([anOffer("a"), anOffer("b")]);
  expect(list.named("b")?.name).toBe("b");
  expect(list.named("c")).toBe(null);
});

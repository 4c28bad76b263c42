import { expect, it } from "vitest";
import { isForCall, OfferList } from "../../src/core/offers/offer-list.ts";
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

it("among offers of one tag, among those of an account and among those for all, the lower rank comes first, and of equal ranks the one that is given first", () => {
  for (const audience of [forTags("gold"), forAccounts("acme"), {}]) {
    const offers = [
      anOffer("c", { ...audience, rank: 5 }),
      anOffer("b", { ...audience, rank: 4 }),
      anOffer("a", { ...audience, rank: 5 }),
    ];
    expect(offersOf(offers).map(([name]) => name)).toEqual(["b", "c", "a"]);
  }
});

it("offers of several tags of an account come tag by tag, in the order of its tags, whatever their rank", () => {
  const offers = [anOffer("eu", { ...forTags("eu"), rank: 1 }), anOffer("gold", forTags("gold"))];
  expect(offersOf(offers).map(([name]) => name)).toEqual(["gold", "eu"]);
  const other = { account: "acme", tags: ["eu", "gold"] };
  expect(offersOf(offers, other).map(([name]) => name)).toEqual(["eu", "gold"]);
});

it("an offer that names both an account and tags of the account is listed once, as the account's own", () => {
  const both = anOffer("both", { audience: { accounts: ["acme"], tags: ["gold", "eu"] } });
  expect(offersOf([both])).toEqual([["both", { kind: "account" }]]);
});

it.each([
  ["there are no offers", true, []],
  [
    "all offers are for others",
    true,
    [anOffer("a", forAccounts("globex")), anOffer("b", forTags("us"))],
  ],
  ["an offer names the account", false, [anOffer("a", forAccounts("acme"))]],
  ["an offer names one of its tags", false, [anOffer("a", forTags("eu"))]],
  ["an offer is for all accounts", false, [anOffer("a"), anOffer("b", forAccounts("globex"))]],
])("at a connection where %s, an account has no offers: %s", (_where, isEmpty, offers) => {
  expect(new OfferList(offers).offersAt("ark", ACME).isEmpty).toBe(isEmpty);
});

it.each([
  ["there are no offers", false, []],
  ["no offer names a tag", false, [anOffer("a"), anOffer("b", forAccounts("acme"))]],
  ["one of several offers names a tag", true, [anOffer("a"), anOffer("b", forTags("eu"))]],
])(
  "in a list of offers where %s, the tags of an account can decide which offers it has: %s",
  (_where, hasTags, offers) => {
    expect(new OfferList(offers).hasTags).toBe(hasTags);
  },
);

/** Returns the name of the first offer for a request at the connection `ark`; null when there is none. */
function firstOf(offers: readonly Offer[], model: string | null, path = "/v1", buyer = ACME) {
  const placed = new OfferList(offers).offersAt("ark", buyer).at("connection", path);
  return placed.first(model)?.offer.name ?? null;
}

it("the offer for a request is the first that has its key owner, path and model, also where models are named and given with * side by side", () => {
  const any = anOffer("any", { models: ["*"] });
  expect(firstOf([any], "m-2")).toBe("any");
  const others = [
    anOffer("own-key", { models: ["*"], keyOwner: "customer" }),
    anOffer("path", { models: ["*"], path: "/v2" }),
    anOffer("model", { models: ["m", "n*"] }),
  ];
  expect(firstOf([...others, any], "m-2")).toBe("any");
  expect(firstOf(others, "m-2")).toBe(null);
  expect(firstOf(others, "m-2", "/v2")).toBe("path");
  const exact = anOffer("exact", { models: ["x", "m-2"], path: "/v1" });
  const glob = anOffer("glob", { models: ["y", "m-*"] });
  expect(firstOf([exact, glob, any], "m-2")).toBe("exact");
  expect(firstOf([glob, exact, any], "m-2")).toBe("glob");
  expect(firstOf([glob, exact, any], "m-2", "/v9")).toBe("glob");
  expect(firstOf([exact, any], "m-2", "/v9")).toBe("any");
  expect(firstOf([exact, exact, any], "x")).toBe("exact");
});

it("a request that names no model has the first offer for any model, and none where all offers name models", () => {
  const named = anOffer("named", { models: ["m", "**"] });
  expect(firstOf([named], null)).toBe(null);
  expect(firstOf([named, anOffer("any", { models: ["m", "*"] })], null)).toBe("any");
});

it("an offer for all decides where the account's own offers and those of its tags have another model", () => {
  const offers = [
    anOffer("all", { models: ["*"] }),
    anOffer("gold", { ...forTags("gold"), models: ["g"] }),
    anOffer("own", { ...forAccounts("acme"), models: ["o"] }),
  ];
  expect(["o", "g", "x"].map((model) => firstOf(offers, model))).toEqual(["own", "gold", "all"]);
});

const priced = (credits: number) => ({ price: { credits, rule: null } });
const placedOf = (...offers: readonly Offer[]) =>
  new OfferList(offers).offersAt("ark", ACME).at("connection", "/v1");

it("the offers at a path state together whether all have a price, what the cheapest costs, and which members they limit, whoever each is for", () => {
  const limit = { values: [1], min: null, max: null, isOptional: false };
  const own = anOffer("own", {
    ...forAccounts("acme"),
    ...priced(7),
    limits: [{ ...limit, pointer: "/a/b" }],
  });
  const all = anOffer("all", { ...priced(5), limits: [{ ...limit, pointer: "?q" }] });
  expect(placedOf(own, all)).toMatchObject({
    isEmpty: false,
    areAllPriced: true,
    leastCredits: 5,
    limitedPointers: ["/a", "/a/b"],
  });
  expect(placedOf(own, anOffer("free"))).toMatchObject({ areAllPriced: false, leastCredits: 0 });
  expect(placedOf(all, anOffer("free"))).toMatchObject({ areAllPriced: false, leastCredits: 0 });
  expect(placedOf()).toMatchObject({ isEmpty: true, areAllPriced: false, limitedPointers: [] });
});

it.each([
  ["all are for everyone", true, [anOffer("a"), anOffer("b")]],
  [
    "all name the account",
    true,
    [anOffer("a", forAccounts("acme")), anOffer("b", forAccounts("acme"))],
  ],
  [
    "all name the account, and one for everyone is for another path",
    true,
    [anOffer("a", forAccounts("acme")), anOffer("b", { path: "/v2" })],
  ],
  [
    "one names the account and one is for everyone",
    false,
    [anOffer("a", forAccounts("acme")), anOffer("b")],
  ],
  [
    "they name different tags of the account",
    false,
    [anOffer("a", forTags("eu")), anOffer("b", forTags("gold"))],
  ],
  ["there are none", false, []],
])(
  "the offers at a path are for the same accounts, so that their lowest price may be told, when %s: %s",
  (_when, areForSame, offers) => {
    expect(placedOf(...offers).areForSameAccounts).toBe(areForSame);
  },
);

it("an offer is for a call with the owner of its key, its path and one of its models", () => {
  const offer = anOffer("a", { path: "/v1", models: ["m", "n*"] });
  const call = { keyOwner: "connection", path: "/v1", model: "n-2" } as const;
  expect(isForCall(offer, call)).toBe(true);
  expect(isForCall(offer, { ...call, model: "m" })).toBe(true);
  expect(isForCall(offer, { ...call, model: "o" })).toBe(false);
  expect(isForCall(offer, { ...call, path: "/v2" })).toBe(false);
  expect(isForCall(offer, { ...call, keyOwner: "customer" })).toBe(false);
});

it("an offer is found by its name, and no other", () => {
  const list = new OfferList([anOffer("a"), anOffer("b")]);
  expect(list.named("b")?.name).toBe("b");
  expect(list.named("c")).toBe(null);
});

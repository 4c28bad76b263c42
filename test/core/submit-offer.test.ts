import { expect, it } from "vitest";
import {
  decideOffer as decide,
  type OfferDecision,
  type OfferRequest,
  placeRefusal,
} from "../../src/api/submit/offer-decision.ts";
import type { Found } from "../../src/api/submit/json-body.ts";
import { parseOffers } from "../../src/config/offers.ts";
import { OfferList } from "../../src/core/offers/offer-list.ts";
import type { Offer } from "../../src/core/offers/offer.ts";

/** Returns the offers that are written as in the variable `OFFERS`. */
function offersOf(...written: readonly object[]): readonly Offer[] {
  const result = parseOffers(written);
  if (!result.ok) throw new Error(result.error);
  return result.value ?? [];
}

const BUYER = { account: "acme", tags: [] };

/** Parts of a request that are known before its body is read. */
interface Place {
  readonly keyOwner: "connection" | "customer";
  readonly path: string;
}
type Asked = OfferRequest & Place;

/** Returns the price by which an account without tags may submit a request, or why it may not. */
function decideOffer(offers: readonly Offer[], request: Asked) {
  const { connection, keyOwner, path } = request;
  const offered = new OfferList(offers).offersAt(connection, BUYER);
  const placed = offered.at(keyOwner, path);
  if (placed.isEmpty) {
    return { kind: "refused", detail: placeRefusal(offered, { connection, keyOwner }) };
  }
  const decision: OfferDecision = decide(placed, request);
  return decision.kind === "offered" ? { kind: "offered", price: decision.offer.price } : decision;
}

const PATH = "/v1/videos";
const FREE = { kind: "offered", price: null };
const offeredFor = (credits: number) => ({ kind: "offered", price: { credits, rule: null } });
/** Stands for a text that is too long to be compared. */
const LONG = { text: "long" };
type Value = string | number | boolean | null | object;

function memberOf(value: Value): Found {
  if (value === LONG) return { kind: "long" };
  if (typeof value !== "object" || value === null) return { kind: "scalar", value };
  return { kind: Array.isArray(value) ? "array" : "object" };
}

interface Changes extends Partial<Omit<Asked, "member" | "query">> {
  /** The members of the body by their JSON Pointers. */
  readonly body?: Readonly<Record<string, Value>>;
  readonly query?: string;
}

/** Builds a request for the model `m` at the connection `ark`. */
function aRequest({ body = {}, query = "", ...changes }: Changes = {}): Asked {
  const members = new Map(Object.entries(body).map(([at, value]) => [at, memberOf(value)]));
  return {
    connection: "ark",
    keyOwner: "connection",
    path: PATH,
    model: "m",
    areTexts: false,
    member: (pointer) => members.get(pointer),
    hookField: "",
    query: new URLSearchParams(query),
    ...changes,
  };
}

const OFFER = { connection: "ark", models: ["m"] };

it.each([
  ["connection", { connection: "fal" }, { connection: "fal" }, "Nothing is offered at fal."],
  ["path", { path: "/v2" }, { path: "/v2" }, "Nothing is offered at this path of ark."],
  [
    "path, even if the two differ only by a slash at the end",
    { path: `${PATH}/` },
    { path: `${PATH}/` },
    "Nothing is offered at this path of ark.",
  ],
  [
    "model",
    { models: ["n", "o"] },
    { model: "n" },
    "The model of the request is not offered at this path of ark.",
  ],
])(
  "an account may submit a request only if an offer has the request's %s; the refusal says which value no offer has",
  (_, other, changes, detail) => {
    const own = { ...OFFER, path: PATH };
    expect(decideOffer(offersOf(own), aRequest())).toEqual(FREE);
    expect(decideOffer(offersOf(own), aRequest(changes))).toEqual({ kind: "refused", detail });
    expect(decideOffer(offersOf(own, { ...own, ...other }), aRequest(changes))).toEqual(FREE);
  },
);

it("an offer for customers' own keys permits only requests with such a key, and all other offers permit only requests without one", () => {
  const own = { ...OFFER, key: "customer", price: { credits: 1 } };
  const withOwnKey = aRequest({ keyOwner: "customer" });
  expect(decideOffer(offersOf(OFFER, own), withOwnKey)).toEqual(offeredFor(1));
  expect(decideOffer(offersOf(own, OFFER), aRequest())).toEqual(FREE);
  expect(decideOffer(offersOf(OFFER), withOwnKey)).toEqual({
    kind: "refused",
    detail: "Nothing is offered at ark with a key of your own.",
  });
  expect(decideOffer(offersOf(own), aRequest())).toEqual({
    kind: "refused",
    detail:
      "ark is offered only with a key of your own: send it in the header of the upstream, and the key of the relay in Relay-Key.",
  });
});

it("no request may be submitted when OFFERS has no offer", () => {
  const detail = "Nothing is offered at ark.";
  expect(decideOffer([], aRequest())).toEqual({ kind: "refused", detail });
});

it("an offer without a path permits every path of its connection", () => {
  expect(decideOffer(offersOf(OFFER), aRequest({ path: "/any" }))).toEqual(FREE);
});

it("a request that names no model is permitted only by an offer for any model", () => {
  const request = aRequest({ model: null });
  const detail =
    "The request names no model, and only certain models are offered at this path of ark.";
  expect(decideOffer(offersOf({ ...OFFER, models: ["m", "**"] }), request)).toEqual({
    kind: "refused",
    detail,
  });
  expect(decideOffer(offersOf({ ...OFFER, models: ["m", "*"] }), request)).toEqual(FREE);
});

it("the first offer that has connection, path and model of a request decides, with its price and limits, even if a later offer would permit the request", () => {
  const offers = offersOf(
    { ...OFFER, connection: "fal", price: { credits: 1 } },
    { ...OFFER, path: "/v2", price: { credits: 2 } },
    { ...OFFER, models: ["n-*"], price: { credits: 3 } },
    { ...OFFER, models: ["x", "m*"], limits: { "/n": { max: 1 } }, price: { credits: 4 } },
    { ...OFFER, price: { credits: 5 } },
  );
  const within = aRequest({ body: { "/n": 1 } });
  expect(decideOffer(offers, within)).toEqual(offeredFor(4));
  expect(decideOffer(offers, aRequest({ body: { "/n": 2 } }))).toEqual({
    kind: "refused",
    detail: "The offer for this request limits it: /n must be a number from 0 to 1.",
  });
});

it("when a request breaks several limits of its offer, the refusal names the first of them", () => {
  const limits = { "/a": [1], "?b": [2], "/c": [3] };
  const decision = decideOffer(offersOf({ ...OFFER, limits }), aRequest({ body: { "/a": 1 } }));
  expect(decision).toMatchObject({
    detail: expect.stringContaining(": ?b must be 2, and is miss"),
  });
});

/** Returns the fault that the refusal of a request states; null when the request is offered. */
function faultIn(limit: unknown, pointer: string, changes: Changes): string | null {
  const offers = offersOf({ ...OFFER, limits: { [pointer]: limit } });
  const decision = decideOffer(offers, aRequest(changes));
  if (!("detail" in decision)) return null;
  const [, fault = ""] =
    /^The offer for this request limits it: (.+)\.$/.exec(decision.detail) ?? [];
  return fault;
}

it.each([
  [{ max: 10 }, "a number from 0 to 10", [10, 9.5, 0], [10.001, 11, -1]],
  [{ min: 1 }, "a number of at least 1", [1, 1e300], [0.999, 0]],
  [{ min: -1, max: 1 }, "a number from -1 to 1", [-1, 0, 1], [-2, 2]],
  [{ max: 10 }, "a number from 0 to 10", [], ["5", "", true, null, [5], {}, LONG]],
  [["720p"], '"720p"', ["720p"], ["720P", "720p ", "480p", 720, null, ["720p"], {}, LONG]],
  [[5, "6", true], 'one of 5, "6", true', [5, "6", true], ["5", 6, "true", 1, false, null]],
  [{ values: [0] }, "0", [0], ["0", false, "", null]],
] as const)(
  "a member of the request body is within an offer's limit %j only if it is %s, with exactly this type: %j are within, %j are outside",
  (limit, rule, within, outside) => {
    for (const value of within) {
      expect([value, faultIn(limit, "/a", { body: { "/a": value } })]).toEqual([value, null]);
    }
    for (const value of outside) {
      const fault = faultIn(limit, "/a", { body: { "/a": value } });
      expect([value, fault]).toEqual([value, `/a must be ${rule}`]);
    }
  },
);

it.each([
  [{ max: 10 }, "a number from 0 to 10", ["10", "9.5", "0"], ["11", "10.5", "-1"]],
  [
    { min: -10, max: 10 },
    "a number from -10 to 10",
    ["-10", "0.25"],
    [
      "010",
      "1e1",
      "+5",
      "5.0",
      "5.",
      ".5",
      " 5",
      "0x5",
      "",
      "-0",
      "Infinity",
      "NaN",
      "٥",
      "5,5",
      "9.99999999999999999",
    ],
  ],
  [{ min: 1 }, "a number of at least 1", ["1"], ["Infinity", "1e+21", "9".repeat(22)]],
  [["720p"], '"720p"', ["720p"], ["720P", "480p", ""]],
  [[5, true], "one of 5, true", ["5", "true"], ["05", "5.0", "TRUE", "1"]],
] as const)(
  "a parameter of the request's query is within an offer's limit %j only if it is %s, in the shortest spelling: %j are within, %j are outside",
  (limit, rule, within, outside) => {
    const faultOf = (value: string) =>
      faultIn(limit, "?a", { query: new URLSearchParams({ a: value }).toString() });
    for (const value of within) expect([value, faultOf(value)]).toEqual([value, null]);
    for (const value of outside) {
      expect([value, faultOf(value)]).toEqual([value, `?a must be ${rule}`]);
    }
  },
);

it.each(["/a/b", "?a/b"])(
  "a value at %s for which an offer has a limit must be in the request unless the limit says that the value is optional",
  (pointer) => {
    const fault = `${pointer} must be a number from 0 to 1, and is missing`;
    expect(faultIn({ max: 1 }, pointer, {})).toBe(fault);
    expect(faultIn({ max: 1, optional: false }, pointer, { body: { "/a": {} } })).toBe(fault);
    expect(faultIn({ max: 1, optional: true }, pointer, {})).toBe(null);
  },
);

it("a number in a request that is too large for JavaScript, which reads it as infinite, is outside every limit", () => {
  for (const value of [Infinity, -Infinity]) {
    const body = { "/a": value };
    expect(faultIn({ min: 1 }, "/a", { body })).toBe("/a must be a number of at least 1");
    expect(faultIn({ max: 1 }, "/a", { body })).toBe("/a must be a number from 0 to 1");
  }
});

it("a value of a request that a limit calls optional must be within the limit if the request has it", () => {
  const limit = { max: 1, optional: true };
  expect(faultIn(limit, "/a", { body: { "/a": 2 } })).toBe("/a must be a number from 0 to 1");
  expect(faultIn(limit, "/a", { body: { "/a": null } })).toBe("/a must be a number from 0 to 1");
  expect(faultIn(limit, "?a", { query: "a=2" })).toBe("?a must be a number from 0 to 1");
});

it.each([[[{ b: 1 }]], ['{"b": 1}'], [null], [LONG]])(
  "a request is refused when a value that should contain a limited one is not an object, even if the limited one is optional: here the value is %j",
  (value) => {
    const limit = { max: 1, optional: true };
    const body = { "/a": {}, "/a/b": value };
    expect(faultIn(limit, "/a/b/c", { body })).toBe("/a/b must be an object");
    expect(faultIn(limit, "/a/b/c", { body: { "/a": {}, "/a/b": {}, "/a/b/c": 1 } })).toBe(null);
  },
);

it("a query parameter for which an offer has a limit may be given only once, even if both given values are within the limit", () => {
  expect(faultIn([1], "?a", { query: "a=1" })).toBe(null);
  for (const query of ["a=1&a=1", "a=1&b=2&a=2", "%61=1&a=1"]) {
    expect(faultIn({ max: 1, optional: true }, "?a", { query })).toBe("?a must not be given twice");
  }
});

it("a query parameter for which the offer has no limit is refused, unless it is the one that passes the hook URL", () => {
  expect(faultIn([1], "?a", { query: "a=1&b=2" })).toBe("?b must be left out");
  expect(faultIn([1], "?a", { query: "a=1&A=2" })).toBe("?A must be left out");
  expect(faultIn({ max: 1, optional: true }, "/b", { query: "b=1" })).toBe("?b must be left out");
  const offers = offersOf(OFFER);
  expect(decideOffer(offers, aRequest({ query: "hook=u", hookField: "?hook" }))).toEqual(FREE);
  expect(decideOffer(offers, aRequest({ query: "hook=u", hookField: "hook" }))).toEqual({
    kind: "refused",
    detail: "The offer for this request limits it: ?hook must be left out.",
  });
});

it("a limit of an offer for the body applies only to the body of a request, and one for the query only to the query", () => {
  expect(faultIn([1], "/a", { query: "a=1" })).toContain("/a must be 1, and is missing");
  expect(faultIn([1], "?a", { body: { "/a": 1, "?a": 1 } })).toContain("missing");
});

it.each([
  [true, "of offers for certain models", [{ models: ["m"] }]],
  [true, "of offers for certain models and for any", [{ models: ["m", "*"] }]],
  [true, "of an offer for a glob other than * that matches any model", [{ models: ["**"] }]],
  [false, "of an offer for any model", [{ models: ["*"] }]],
  [true, "of an offer for any model with a limit of the body", [{ limits: { "/a": [1] } }]],
  [
    true,
    "of an offer for any model with an optional limit of the body",
    [{ limits: { "/a": { max: 1, optional: true } } }],
  ],
  [
    false,
    "of an offer for any model with a limit of the query",
    [{ limits: { "?a": { values: ["1"], optional: true } } }],
  ],
  [true, "of two offers, of which the second is for certain models", [{}, { models: ["m"] }]],
  [false, "without offers", []],
])("whether the body of a form must be read is %s %s", (isRead, _, changes) => {
  const offers = offersOf(...changes.map((each) => ({ ...OFFER, models: ["*"], ...each })));
  const placed = new OfferList(offers).offersAt("ark", BUYER).at("connection", PATH);
  expect(placed.dependOnBody).toBe(isRead);
});

it("a form that the relay does not read is permitted by the first offer for any model, if its query is within the limits of this offer", () => {
  const any = { ...OFFER, models: ["*"] };
  const offers = offersOf(
    { ...any, limits: { "?a": ["1"] }, price: { credits: 3 } },
    { ...any, price: { credits: 4 } },
  );
  const asked = (query: string) => decideOffer(offers, aRequest({ model: null, query }));
  expect(asked("a=1")).toEqual(offeredFor(3));
  expect(asked("a=2")).toEqual({
    kind: "refused",
    detail: 'The offer for this request limits it: ?a must be "1".',
  });
});

it("the members that the relay looks up in a request body are those that offers for its place limit and the objects around them, each once", () => {
  const offers = offersOf(
    { ...OFFER, limits: { "/a/b/c~1d": [1], "?q/r": [1], "/e": [1] } },
    { ...OFFER, models: ["n"], path: "/v2", limits: { "/a/b/f": [1], "/e": [2] } },
    { ...OFFER, connection: "fal", limits: { "/g": [1] } },
  );
  const limited = (connection: string, path: string) =>
    new OfferList(offers).offersAt(connection, BUYER).at("connection", path).limitedPointers;
  expect(limited("ark", "/v2")).toEqual(["/a", "/a/b", "/a/b/c~1d", "/e", "/a/b/f"]);
  expect(limited("ark", PATH)).toEqual(["/a", "/a/b", "/a/b/c~1d", "/e"]);
  expect(limited("fal", PATH)).toEqual(["/g"]);
  expect(limited("kling", PATH)).toEqual([]);
});

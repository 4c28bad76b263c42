import { expect, it } from "vitest";
import { policyOf } from "../../src/config/task-settings.ts";
import { fieldMessage, formOfOffer, parseOffer, parseOffers } from "../../src/config/offers.ts";
import { configuredWith, MARK } from "./configuration.ts";

const OFFER = { connection: "ark", models: ["m"] };
const OFFERED = {
  ...OFFER,
  name: "offer-1",
  version: null,
  title: null,
  description: null,
  audience: null,
  rank: 100,
  keyOwner: "connection",
  takesUploads: false,
};
const SHAPE =
  'must be JSON like [{"connection": "ark", "models": ["doubao-seedance-*"], "limits": {"/duration": {"max": 10}}, "price": {"credits": 60}}]';
const POINTER = "must have /name for a member of the body or ?name for a parameter of the query";
const PATH = "must have a path below the base URL, like /v1/predictions,";
const RANK = "must have a whole number from 0 to 10000";
const RULE = "must have either values, or min, max or both";

const limited = (limits: unknown) => [{ ...OFFER, limits }];
const limitedBy = (limit: unknown) => limited({ "/a": limit });
const at = (path: unknown) => [{ ...OFFER, path }];
const priced = (price: unknown) => [{ ...OFFER, price }];

/** A price by the tokens that Ark states. */
const BY_TOKENS = {
  hold: 200,
  min: 10,
  per: { usage: "completion_tokens", units: 1_000_000, credits: 15_000 },
};
const EITHER = "must have either credits, or hold and per";
const ABOVE_0 = "must have a number above 0";
const RATES = `${ABOVE_0}, or such numbers by resolution like {"720p": 5}`;
const per = (changes: object) => priced({ ...BY_TOKENS, per: { ...BY_TOKENS.per, ...changes } });

/** Offers that the configuration reads, with what it reads. */
const READ: readonly [what: string, written: object, read: object][] = [
  [
    "with a connection and models alone, which is free and not limited",
    OFFER,
    { ...OFFERED, path: null, limits: [], price: null, tool: null },
  ],
  [
    "for customers with a key of their own",
    { ...OFFER, key: "customer" },
    { ...OFFERED, keyOwner: "customer", path: null, limits: [], price: null, tool: null },
  ],
  [
    "whose other members are null, as if they were absent",
    { ...OFFER, key: null, path: null, limits: null, price: null, uploads: null },
    { ...OFFERED, path: null, limits: [], price: null, tool: null },
  ],
  [
    "with uploads",
    { ...OFFER, uploads: true },
    { ...OFFERED, path: null, limits: [], price: null, takesUploads: true, tool: null },
  ],
  [
    "with texts for people, for an account and for accounts with a tag, with a rank",
    {
      ...OFFER,
      name: "video",
      title: "Video",
      description: "A video.",
      accounts: ["acme", "tag:gold"],
      rank: 0,
    },
    {
      ...OFFERED,
      name: "video",
      title: "Video",
      description: "A video.",
      audience: { accounts: ["acme"], tags: ["gold"] },
      rank: 0,
      path: null,
      limits: [],
      price: null,
      tool: null,
    },
  ],
  [
    "with a path and a price",
    { ...OFFER, path: "/v1/models/a:predict", price: { credits: 1 } },
    {
      ...OFFERED,
      path: "/v1/models/a:predict",
      limits: [],
      price: { credits: 1, rule: null },
      tool: null,
    },
  ],
  [
    "with a price by usage",
    { ...OFFER, price: BY_TOKENS },
    {
      ...OFFERED,
      path: null,
      limits: [],
      tool: null,
      price: {
        credits: 200,
        rule: { by: "usage", name: "completion_tokens", units: 1_000_000, rate: 15_000, min: 10 },
      },
    },
  ],
  [
    "with a price by a field of the output, with rates by resolution",
    {
      ...OFFER,
      price: {
        hold: 90,
        min: null,
        per: { field: "duration", usage: null, units: 0.5, credits: { "720p": 5, "1080p": 9.5 } },
      },
    },
    {
      ...OFFERED,
      path: null,
      limits: [],
      tool: null,
      price: {
        credits: 90,
        rule: {
          by: "field",
          name: "duration",
          units: 0.5,
          rate: { "720p": 5, "1080p": 9.5 },
          min: 0,
        },
      },
    },
  ],
  [
    "with limits for members of the body and parameters of the query, in their order",
    {
      ...OFFER,
      limits: {
        "/duration": { max: 10 },
        "/a/b~1c~0": { min: -0.5, max: -0.5, optional: false },
        "?resolution": ["720p", 5, true],
        "?é /": { values: [""], optional: true, min: null },
      },
    },
    {
      ...OFFERED,
      path: null,
      price: null,
      tool: null,
      limits: [
        { pointer: "/duration", values: null, min: 0, max: 10, isOptional: false },
        { pointer: "/a/b~1c~0", values: null, min: -0.5, max: -0.5, isOptional: false },
        {
          pointer: "?resolution",
          values: ["720p", 5, true],
          min: null,
          max: null,
          isOptional: false,
        },
        { pointer: "?é /", values: [""], min: null, max: null, isOptional: true },
      ],
    },
  ],
];

it.each(READ)("the variable OFFERS may contain an offer %s", (_, written, read) => {
  for (const value of [JSON.stringify([written]), ` ${JSON.stringify([written])}\n`, [written]]) {
    expect(parseOffers(value)).toEqual({ ok: true, value: [read] });
  }
});

it.each([
  ["is not set, and the relay's own store has the offers,", undefined, null],
  ["is null and counts as not set", null, null],
  ["is empty and counts as not set", "", null],
  ["is blank and counts as not set", " \n", null],
  ["is an empty list, and nothing is offered", "[]", []],
  ["is an empty list of TOML, and nothing is offered", [], []],
])("the variable OFFERS is accepted when it %s", (_, value, read) => {
  expect(parseOffers(value)).toEqual({ ok: true, value: read });
});

/** Faults of `OFFERS`: the value and the message, which follows the name of the variable. */
const FAULTS: readonly [what: string, value: unknown, message: string][] = [
  ["text that is not JSON", `[{"${MARK}`, SHAPE],
  ["an object", { [MARK]: OFFER }, SHAPE],
  ["a number", 7, SHAPE],
  ["an offer that is a text", [OFFER, MARK], "must have an offer at 1"],
  ["an offer that is a list", [[OFFER]], "must have an offer at 0"],
  ["an unknown member", [{ ...OFFER, limit: MARK }], "has an unknown member at 0.limit"],
  [
    "an unknown member with a special name",
    `[{"connection": "ark", "models": ["m"], "__proto__": "${MARK}"}]`,
    "has an unknown member at 0.__proto__",
  ],
  [
    "a name with capital letters",
    [{ ...OFFER, name: MARK.toUpperCase() }],
    "must have a name of at most 64 of a-z 0-9 - at 0.name",
  ],
  [
    "the same name twice",
    [
      { ...OFFER, name: "a" },
      { ...OFFER, name: "a" },
    ],
    "must have another name than every other offer and every connection at 1.name",
  ],
  [
    "the name of a connection",
    [{ ...OFFER, name: "ark" }],
    "must have another name than every other offer and every connection at 0.name",
  ],
  [
    "an empty title",
    [{ ...OFFER, title: "" }],
    "must have a text of at most 100 characters at 0.title",
  ],
  [
    "a description that is too long",
    [{ ...OFFER, description: "a".repeat(1_001) }],
    "must have a text of at most 1000 characters at 0.description",
  ],
  [
    "accounts that are a text",
    [{ ...OFFER, accounts: MARK }],
    "must have a list of 1 to 100 accounts at 0.accounts",
  ],
  [
    "an empty list of accounts",
    [{ ...OFFER, accounts: [] }],
    "must have a list of 1 to 100 accounts at 0.accounts",
  ],
  [
    "more accounts than an offer may have",
    [{ ...OFFER, accounts: Array.from({ length: 101 }, (_, i) => `a${i}`) }],
    "must have a list of 1 to 100 accounts at 0.accounts",
  ],
  [
    "an account with a space and a tag with capital letters",
    [{ ...OFFER, accounts: ["a", "a b", "tag:Gold"] }],
    "must have the id of an account, or tag: and the name of a tag, at 0.accounts.1; must have the id of an account, or tag: and the name of a tag, at 0.accounts.2",
  ],
  ["a rank that is a fraction", [{ ...OFFER, rank: 1.5 }], `${RANK} at 0.rank`],
  ["a rank below 0", [{ ...OFFER, rank: -1 }], `${RANK} at 0.rank`],
  ["a rank above 10000", [{ ...OFFER, rank: 10_001 }], `${RANK} at 0.rank`],
  ["no connection", [{ models: ["m"] }], "must name a connection of the relay at 0.connection"],
  [
    "a connection that is a number",
    [{ ...OFFER, connection: 1 }],
    "must name a connection of the relay at 0.connection",
  ],
  [
    "another owner of the key than the customer",
    [{ ...OFFER, key: MARK }],
    'must have "customer" or be left out at 0.key',
  ],
  ["a path that is a number", at(1), `${PATH} at 0.path`],
  ["an empty path", at(""), `${PATH} at 0.path`],
  ["a path without a slash in front", at(MARK), `${PATH} at 0.path`],
  ["a URL as path", at(`https://${MARK}/a`), `${PATH} at 0.path`],
  ["a path with a query", at(`/a?${MARK}`), `${PATH} at 0.path`],
  ["a path with a fragment", at(`/a#${MARK}`), `${PATH} at 0.path`],
  ["a path with ..", at(`/a/../${MARK}`), `${PATH} at 0.path`],
  ["a path with an encoded ..", at(`/a/%2e%2e/${MARK}`), `${PATH} at 0.path`],
  ["a path with //", at(`/a//${MARK}`), `${PATH} at 0.path`],
  ["a path that begins with //", at(`//${MARK}/a`), `${PATH} at 0.path`],
  ["a path that no URL can have", at("//["), `${PATH} at 0.path`],
  ["a path with a space", at(`/a ${MARK}`), `${PATH} at 0.path`],
  ["no models", [{ connection: "ark" }], "must have a list of one or more models at 0.models"],
  [
    "an empty list of models",
    [{ ...OFFER, models: [] }],
    "must have a list of one or more models at 0.models",
  ],
  [
    "a text as models",
    [{ ...OFFER, models: MARK }],
    "must have a list of one or more models at 0.models",
  ],
  [
    "an empty model",
    [{ ...OFFER, models: [MARK, ""] }],
    "must have the name of a model, in which * stands for any characters, at 0.models.1",
  ],
  [
    "a model that is a number",
    [{ ...OFFER, models: [5] }],
    "must have the name of a model, in which * stands for any characters, at 0.models.0",
  ],
  [
    "limits that are a list",
    limited([MARK]),
    'must have limits like {"/duration": {"max": 10}} at 0.limits',
  ],
  ["a limit of a name alone", limited({ duration: [1] }), `${POINTER} at 0.limits.duration`],
  ["a limit of the whole body", limited({ "": [1] }), `${POINTER} at 0.limits.`],
  ["a limit of a member without a name", limited({ "/": [1] }), `${POINTER} at 0.limits./`],
  [
    "a limit of a member within one without a name",
    limited({ "//a": [1] }),
    `${POINTER} at 0.limits.//a`,
  ],
  ["a limit that ends in a slash", limited({ "/a/": [1] }), `${POINTER} at 0.limits./a/`],
  [
    "a limit with a ~ that escapes nothing",
    limited({ "/a~2": [1] }),
    `${POINTER} at 0.limits./a~2`,
  ],
  ["a limit of a parameter without a name", limited({ "?": [1] }), `${POINTER} at 0.limits.?`],
  [
    "a limit of a special name",
    `[{"connection": "ark", "models": ["m"], "limits": {"__proto__": ["${MARK}"]}}]`,
    `${POINTER} at 0.limits.__proto__`,
  ],
  [
    "a limit that is a number",
    limitedBy(10),
    'must have a list of values or an object like {"max": 10} at 0.limits./a',
  ],
  [
    "a limit that is null",
    limitedBy(null),
    'must have a list of values or an object like {"max": 10} at 0.limits./a',
  ],
  [
    "an empty list of values",
    limitedBy([]),
    "must have a list of one or more values at 0.limits./a",
  ],
  [
    "an empty list of values in an object",
    limitedBy({ values: [] }),
    "must have a list of one or more values at 0.limits./a.values",
  ],
  [
    "null as value",
    limitedBy([MARK, null]),
    "must have a text, a number, true or false at 0.limits./a.1",
  ],
  [
    "an object as value",
    limitedBy({ values: [{ [MARK]: 1 }] }),
    "must have a text, a number, true or false at 0.limits./a.values.0",
  ],
  [
    "a number that is too large for JSON's readers as value",
    `[{"connection": "ark", "models": ["m"], "limits": {"/a": [1e999]}}]`,
    "must have a text, a number, true or false at 0.limits./a.0",
  ],
  ["a limit without values, min and max", limitedBy({ optional: true }), `${RULE} at 0.limits./a`],
  ["a limit with values and a bound", limitedBy({ values: [1], min: 0 }), `${RULE} at 0.limits./a`],
  ["a max that is a text", limitedBy({ max: MARK }), "must have a number at 0.limits./a.max"],
  ["a min that is a list", limitedBy({ min: [1] }), "must have a number at 0.limits./a.min"],
  [
    "a min above the max",
    limitedBy({ min: 11, max: 10 }),
    "must not have a min above its max at 0.limits./a",
  ],
  ["uploads that is a text", [{ ...OFFER, uploads: MARK }], "must have true or false at 0.uploads"],
  [
    "optional that is a text",
    limitedBy({ max: 1, optional: MARK }),
    "must have true or false at 0.limits./a.optional",
  ],
  [
    "an unknown member of a limit",
    limitedBy({ max: 1, maximum: MARK }),
    "has an unknown member at 0.limits./a.maximum",
  ],
  ["a price that is a number", priced(60), 'must have a price like {"credits": 60} at 0.price'],
  ["a price without credits", priced({}), `${EITHER} at 0.price`],
  [
    "0 credits",
    priced({ credits: 0 }),
    "must have a whole number of at least 1 at 0.price.credits",
  ],
  [
    "half a credit",
    priced({ credits: 1.5 }),
    "must have a whole number of at least 1 at 0.price.credits",
  ],
  [
    "more credits than can be counted",
    priced({ credits: 2 ** 53 }),
    "must have a whole number of at least 1 at 0.price.credits",
  ],
  [
    "credits as a text",
    priced({ credits: MARK }),
    "must have a whole number of at least 1 at 0.price.credits",
  ],
  [
    "an unknown member of a price",
    priced({ credits: 1, pre: MARK }),
    "has an unknown member at 0.price.pre",
  ],
  ["credits beside hold and per", priced({ ...BY_TOKENS, credits: 60 }), `${EITHER} at 0.price`],
  ["credits beside min", priced({ credits: 60, min: 0 }), `${EITHER} at 0.price`],
  ["hold without per", priced({ hold: 60 }), `${EITHER} at 0.price`],
  ["per without hold", priced({ per: BY_TOKENS.per }), `${EITHER} at 0.price`],
  [
    "a hold of 0",
    priced({ ...BY_TOKENS, hold: 0 }),
    "must have a whole number of at least 1 at 0.price.hold",
  ],
  ["a min above hold", priced({ ...BY_TOKENS, min: 201 }), "must not be above hold at 0.price.min"],
  [
    "a min below 0",
    priced({ ...BY_TOKENS, min: -1 }),
    "must have a whole number of at least 0 at 0.price.min",
  ],
  [
    "per as a text",
    priced({ hold: 200, per: MARK }),
    'must have an object like {"usage": "completion_tokens", "units": 1000000, "credits": 15000} at 0.price.per',
  ],
  [
    "usage beside field",
    per({ field: "duration" }),
    "must have either usage or field at 0.price.per",
  ],
  [
    "neither usage nor field",
    per({ usage: null }),
    "must have either usage or field at 0.price.per",
  ],
  ["0 units", per({ units: 0 }), `${ABOVE_0} at 0.price.per.units`],
  ["units below 0", per({ units: -1 }), `${ABOVE_0} at 0.price.per.units`],
  ["no units", per({ units: undefined }), `${ABOVE_0} at 0.price.per.units`],
  ["units as a text", per({ units: MARK }), `${ABOVE_0} at 0.price.per.units`],
  ["a rate of 0", per({ credits: 0 }), `${ABOVE_0} at 0.price.per.credits`],
  [
    "a rate below 0 for a resolution",
    per({ credits: { "720p": -5 } }),
    `${ABOVE_0} at 0.price.per.credits.720p`,
  ],
  ["a rate as a text", per({ credits: MARK }), `${RATES} at 0.price.per.credits`],
  [
    "no rate",
    per({ credits: {} }),
    "must have numbers for 1 to 32 resolutions at 0.price.per.credits",
  ],
  [
    "a field that no price can be by",
    per({ usage: null, field: MARK }),
    "must have one of duration at 0.price.per.field",
  ],
  [
    "a sentence as usage",
    per({ usage: "a red fox" }),
    "must have a name like completion_tokens at 0.price.per.usage",
  ],
  ["an unknown member of per", per({ unit: MARK }), "has an unknown member at 0.price.per.unit"],
  [
    "faults in several places, each of which the message states",
    [
      { ...OFFER, models: [], price: { credits: 0 } },
      { ...OFFER, path: MARK },
    ],
    `must have a list of one or more models at 0.models; must have a whole number of at least 1 at 0.price.credits; ${PATH} at 1.path`,
  ],
];

it.each(FAULTS)(
  "the variable OFFERS with %s is refused, in a message that says where the fault is and does not contain the value",
  (_, value, message) => {
    const error = [{ path: "OFFERS", message }];
    for (const OFFERS of typeof value === "string" ? [value] : [value, JSON.stringify(value)]) {
      expect(configuredWith({ OFFERS })).toEqual({ ok: false, error });
    }
  },
);

it.each([
  ["an unknown one is refused", MARK, {}, false],
  ["sandbox is refused while the sandbox is off", "sandbox", {}, false],
  ["sandbox is accepted while the sandbox is on", "sandbox", { SANDBOX: "true" }, true],
  ["newapi is refused when it has no base URL", "newapi", {}, false],
  ["ark is accepted even when it has no key", "ark", {}, true],
  [
    "one from the variable CONNECTIONS is accepted",
    "ark-2",
    { CONNECTIONS: { "ark-2": { provider: "ark" } } },
    true,
  ],
])(
  "an offer may name only a connection that the relay has: %s",
  (_, connection, vars, isAccepted) => {
    const result = configuredWith({ ...vars, OFFERS: [OFFER, { ...OFFER, connection }] });
    expect(result.ok).toBe(isAccepted);
    if (result.ok) return;
    const message = "must name a connection of the relay at 1.connection";
    expect(result.error).toEqual([{ path: "OFFERS", message }]);
  },
);

it.each([
  ["ark", "completion_tokens", null],
  [
    "ark",
    "tokens",
    "must name a number of the usage that jobs of this connection state (completion_tokens, total_tokens, generated_images, output_tokens) at 0.price.per.usage",
  ],
  [
    "luma",
    "tokens",
    "must be left out, because jobs of this connection state no usage, at 0.price.per.usage",
  ],
])(
  "an offer for %s with a price by the usage %s is accepted only if this upstream states that usage of its jobs",
  (connection, usage, message) => {
    const price = { ...BY_TOKENS, per: { ...BY_TOKENS.per, usage } };
    const result = configuredWith({ OFFERS: [{ ...OFFER, connection, price }] });
    if (message === null) expect(result.ok).toBe(true);
    else expect(result).toEqual({ ok: false, error: [{ path: "OFFERS", message }] });
  },
);

it("an offer for customers with keys of their own may name a connection without a key, but not the sandbox, because the sandbox takes no key", () => {
  const own = { ...OFFER, key: "customer" };
  expect(configuredWith({ OFFERS: [own] }).ok).toBe(true);
  const OFFERS = [own, { ...own, connection: "sandbox" }];
  const message = "must be left out, because this connection takes no key, at 1.key";
  const error = [{ path: "OFFERS", message }];
  expect(configuredWith({ SANDBOX: "true", OFFERS })).toEqual({ ok: false, error });
});

/** Returns the limits of submissions in a configuration, the times as the core gets them. */
function limitsWith(vars: object): readonly number[] {
  const result = configuredWith(vars);
  if (!result.ok) throw new Error("the configuration was refused");
  const { maxSubmitBytes, submitTimeoutMs, submitUnknownMs } = result.value;
  const keys = { sealingKeys: new Map(), outputKeys: [] };
  expect(policyOf(result.value, keys, 0, 0, 0)).toMatchObject({
    submitTimeoutMs,
    submitUnknownMs,
  });
  return [maxSubmitBytes, submitTimeoutMs, submitUnknownMs];
}

it("by default a submission may have 16 MiB, take 90 s and be of unknown outcome for an hour; variables change this, and tasks get both time limits", () => {
  expect(limitsWith({})).toEqual([16_777_216, 90_000, 3_600_000]);
  const others = { MAX_SUBMIT_MB: "24", SUBMIT_TIMEOUT_S: 5, SUBMIT_UNKNOWN_MINUTES: "1" };
  expect(limitsWith(others)).toEqual([25_165_824, 5_000, 60_000]);
});

it.each(READ)(
  "an offer %s is read as the same offer in the form in which the relay shows it",
  (_, written) => {
    const name = "name" in written ? String(written.name) : "offer-1";
    const read = parseOffer(written, name, 7);
    if (!read.ok) throw new Error("an offer was refused");
    expect(parseOffer(formOfOffer(read.value), name, 7)).toEqual(read);
  },
);

/** Returns the faults of an offer with the name `video` in a request. */
function faultsIn(value: unknown) {
  const read = parseOffer(value, "video", 1);
  return read.ok ? [] : read.error.map(({ path, message }) => [path, fieldMessage(message)]);
}

it("the faults of an offer in a request have their places, and are worded as those of fields", () => {
  expect(faultsIn({ ...OFFER, models: [], [MARK]: 1, limits: { "/a": { max: "1" } } })).toEqual([
    [["models"], "must be a list of one or more models"],
    [["limits", "/a", "max"], "must be a number"],
    [[MARK], "Unknown field"],
  ]);
});

it("an offer in a request may repeat the name of its path, and may have no other", () => {
  expect(faultsIn({ ...OFFER, name: "video" })).toEqual([]);
  expect(faultsIn({ ...OFFER, name: "other" })).toEqual([
    [["name"], "must be left out, or be that of the path"],
  ]);
});

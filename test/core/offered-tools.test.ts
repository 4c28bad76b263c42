import { expect, it } from "vitest";
import { parseOffers } from "../../src/config/offers.ts";
import { toolInput } from "../../src/config/tool-input.ts";
import { configuredWith, MARK } from "./configuration.ts";

const BODY = { type: "object", properties: { prompt: { type: "string" } }, required: ["prompt"] };
const OFFER = { connection: "ark", path: "/contents/generations/tasks", models: ["m"], body: BODY };
const NODE = "must have a schema with the type string, integer, number, boolean, array or object";

const withBody = (body: unknown) => [{ ...OFFER, body }];
const withMember = (member: object) => withBody({ ...BODY, properties: { prompt: member } });

it("an offer with a schema of the request body gives agents a tool for its model and path, whose name is that of the offer or of the model, unless the offer states another", () => {
  const named = { ...OFFER, models: ["doubao/seedance-2.0"], tool: "video" };
  const offers = parseOffers([
    { ...OFFER, models: ["doubao/seedance-1.0"] },
    named,
    { ...OFFER, models: ["doubao/seedance-3.0"], name: "film" },
  ]);
  const schema = { ...BODY, additionalProperties: false };
  expect(offers.ok && offers.value?.map(({ tool }) => tool)).toMatchObject([
    {
      name: "doubao-seedance-1-0",
      path: OFFER.path,
      model: "doubao/seedance-1.0",
      schema,
    },
    { name: "video", model: "doubao/seedance-2.0" },
    { name: "film", model: "doubao/seedance-3.0" },
  ]);
});

it.each<[string, object[], string]>([
  [
    "a body schema that is a list",
    withBody([]),
    'must have a JSON Schema like {"type": "object", "properties": {"prompt": {"type": "string"}}, "required": ["prompt"]} at 0.body',
  ],
  [
    "a body schema of another type than object",
    withBody({ type: "string" }),
    'must have a JSON Schema like {"type": "object", "properties": {"prompt": {"type": "string"}}, "required": ["prompt"]} at 0.body.type',
  ],
  [
    "an unknown keyword in a body schema",
    withBody({ ...BODY, oneOf: [MARK] }),
    "has an unknown member at 0.body.oneOf",
  ],
  [
    "a misspelt keyword in the schema of a member of the body",
    withMember({ type: "integer", maximun: 1 }),
    "has an unknown member at 0.body.properties.prompt.maximun",
  ],
  [
    "a keyword for numbers in the schema of a boolean member of the body",
    withMember({ type: "boolean", maximum: 1 }),
    "has an unknown member at 0.body.properties.prompt.maximum",
  ],
  [
    "a member of the body whose schema has no type",
    withMember({ description: MARK }),
    `${NODE} at 0.body.properties.prompt.type`,
  ],
  [
    "a member of the body whose schema has two types",
    withMember({ type: ["string", "null"] }),
    `${NODE} at 0.body.properties.prompt.type`,
  ],
  [
    "a member of the body whose minimum is a text",
    withMember({ type: "number", minimum: MARK }),
    "must have a number at 0.body.properties.prompt.minimum",
  ],
  [
    "a member of the body with a maxLength below 0",
    withMember({ type: "string", maxLength: -1 }),
    "must have a whole number of at least 0 at 0.body.properties.prompt.maxLength",
  ],
  [
    "a member of the body with an empty enum",
    withMember({ type: "string", enum: [] }),
    "must have a list of one or more texts at 0.body.properties.prompt.enum",
  ],
  [
    "an array in the body whose schema has no items",
    withMember({ type: "array" }),
    `${NODE} at 0.body.properties.prompt.items`,
  ],
  [
    "a member of the body whose default is above its maximum",
    withMember({ type: "integer", maximum: 10, default: 11 }),
    "must have a value that the schema around it permits at 0.body.properties.prompt.default",
  ],
  [
    "a required member of the body that the schema does not describe",
    withBody({ ...BODY, required: [MARK] }),
    "must name only members of properties at 0.body.required",
  ],
  [
    "a body schema in an offer without a path",
    [{ ...OFFER, path: null }],
    "must have the path of the job, because the offer has a body, at 0.path",
  ],
  [
    "a body schema in an offer for two models",
    [{ ...OFFER, models: ["a", "b"] }],
    "must have one model without *, because the offer has a body, at 0.models",
  ],
  [
    "a body schema in an offer for all models",
    [{ ...OFFER, models: ["*"] }],
    "must have one model without *, because the offer has a body, at 0.models",
  ],
  [
    "a body schema in an offer for customers with a key of their own",
    [{ ...OFFER, key: "customer" }],
    "must be left out, because the offer has a body, at 0.key",
  ],
  [
    "a tool name in an offer without a body schema",
    [{ ...OFFER, body: null, tool: "video" }],
    "must be left out, because the offer has no body, at 0.tool",
  ],
  [
    "a tool name that clients would refuse",
    [{ ...OFFER, tool: "a b" }],
    "must have a name of at most 64 letters, digits, _ and - at 0.tool",
  ],
  [
    "a tool name that one of the relay's own tools has",
    [{ ...OFFER, tool: "read_task" }],
    "must have another name than every other tool at 0.tool",
  ],
  [
    "the same tool name in two offers",
    [
      { ...OFFER, tool: "a" },
      { ...OFFER, models: ["n"], tool: "a" },
    ],
    "must have another name than every other tool at 1.tool",
  ],
  [
    "a body schema in an offer that is never reached, because an earlier offer covers the same calls",
    [{ connection: "ark", models: ["*"] }, OFFER],
    "must be in the first offer for this connection, path and model at 1.body",
  ],
  [
    "a path that starts no job",
    [{ ...OFFER, path: "/files" }],
    "must have a path at which the relay can submit jobs at 0.path",
  ],
  [
    "a body schema that describes the model",
    withBody({ ...BODY, properties: { prompt: { type: "string" }, model: { type: "string" } } }),
    "must be left out, because the relay sets the model, at 0.body.properties.model",
  ],
])(
  "the variable OFFERS with %s is refused, in a message that says where the fault is and does not contain the value",
  (_, OFFERS, message) => {
    const error = [{ path: "OFFERS", message }];
    expect(configuredWith({ OFFERS })).toEqual({ ok: false, error });
    expect(configuredWith({ OFFERS: JSON.stringify(OFFERS) })).toEqual({ ok: false, error });
  },
);

it.each([
  ["another connection", { connection: "replicate", path: "/v1/predictions" }],
  ["another model", { models: ["n"] }],
  ["another path", { path: "/contents/other" }],
  ["customers with a key of their own", { key: "customer" }],
])(
  "in the variable OFFERS, an offer with a body schema may follow an offer without one that is for %s",
  (_, other) => {
    const earlier = { ...OFFER, body: null, ...other };
    expect(configuredWith({ OFFERS: [earlier, OFFER] }).ok).toBe(true);
  },
);

const INPUT = toolInput(
  {
    text: { type: "string", minLength: 2, maxLength: 4 },
    word: { type: "string", enum: ["a", "b"] },
    url: { type: "string", format: "uri" },
    whole: { type: "integer", minimum: -1, maximum: 1 },
    number: { type: "number", enum: [0.5, 2], default: 2 },
    flag: { type: "boolean" },
    list: { type: "array", items: { type: "integer" }, minItems: 1, maxItems: 2 },
    open: {
      type: "object",
      properties: { a: { type: "string" } },
      required: ["a"],
      additionalProperties: true,
    },
  },
  ["flag"],
);

it("the input of an offer's tool for agents is accepted when it fits the schema of the offer, and a missing member gets its default", () => {
  const given = {
    flag: true,
    text: "abc",
    word: "b",
    url: "https://a.example",
    whole: 0,
    list: [1],
  };
  const open = { a: "", b: [null] };
  expect(INPUT.parser.parse({ ...given, open })).toEqual({ ...given, open, number: 2 });
});

it.each<[object, string]>([
  [{}, "flag"],
  [{ flag: true, text: "a" }, "text"],
  [{ flag: true, text: "abcde" }, "text"],
  [{ flag: true, word: "c" }, "word"],
  [{ flag: true, url: "a" }, "url"],
  [{ flag: true, whole: 0.5 }, "whole"],
  [{ flag: true, whole: -2 }, "whole"],
  [{ flag: true, number: 1 }, "number"],
  [{ flag: "true" }, "flag"],
  [{ flag: true, list: [] }, "list"],
  [{ flag: true, list: [1, 2, 3] }, "list"],
  [{ flag: true, list: ["1"] }, "list.0"],
  [{ flag: true, open: { b: 1 } }, "open.a"],
  [{ flag: true, flag2: true }, ""],
])(
  "the input %j of an offer's tool for agents is refused, and the refusal names %j as the place of the fault",
  (given, place) => {
    const paths = INPUT.parser.safeParse(given).error?.issues.map(({ path }) => path.join("."));
    expect(paths).toEqual([place]);
  },
);

const TOOL_TAKEN = "must have another name than every other tool at 1.tool";
const PRECEDED = "must be in the first offer for this connection, path and model at 1.body";
const named = (changes: object) => ({ ...OFFER, tool: "video", ...changes });

it.each<[string, object, object, string | null]>([
  ["for other accounts", { accounts: ["a", "b"] }, { models: ["n"], accounts: ["c"] }, null],
  [
    "for an account of both",
    { accounts: ["a", "b"] },
    { models: ["n"], accounts: ["b"] },
    TOOL_TAKEN,
  ],
  [
    "for a tag, which an account of the first may have",
    { accounts: ["a"] },
    { models: ["n"], accounts: ["tag:x"] },
    TOOL_TAKEN,
  ],
  ["for all accounts", { accounts: ["a"] }, { models: ["n"] }, TOOL_TAKEN],
  ["for the same call of a tag", {}, { accounts: ["tag:x"] }, null],
  ["for the same call of all accounts", {}, {}, PRECEDED],
  [
    "for the same call of all accounts with a lower rank, which precedes the first",
    {},
    { rank: 1 },
    PRECEDED.replace("1.", "0."),
  ],
  [
    "for the same call of accounts that the first has too",
    { accounts: ["a", "b", "tag:x"] },
    { accounts: ["b", "tag:x"] },
    PRECEDED,
  ],
  ["for the same call of a further account", { accounts: ["a"] }, { accounts: ["a", "b"] }, null],
])(
  "a second offer with the tool name of another is judged by the accounts that could see both tools, and by the calls of both: one %s",
  (_, first, second, message) => {
    const result = parseOffers([named(first), named(second)]);
    if (message === null) expect(result.ok).toBe(true);
    else expect(result).toEqual({ ok: false, error: message });
  },
);

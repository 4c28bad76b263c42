import { Ajv2020 } from "ajv/dist/2020.js";
import { expect, it } from "vitest";
import * as z from "zod";
import { aKey, anAccount, booksOf } from "./accounts.ts";
import { call, callWith, refusal } from "./client.ts";
import { useClock } from "./clock.ts";
import { ask } from "./mcp/messages.ts";
import { anArk, ARK_PATH, BINDINGS, MODEL } from "./submitted.ts";

useClock();

const OwnOffer = z.strictObject({
  name: z.string(),
  title: z.string().nullable(),
  description: z.string().nullable(),
  method: z.literal("POST"),
  path: z.string(),
  models: z.array(z.string()),
  body_schema: z.record(z.string(), z.unknown()),
  query_schema: z.record(z.string(), z.unknown()).nullable(),
  price: z.unknown(),
  price_text: z.string(),
  example: z.string().nullable(),
});
const Page = z.strictObject({ data: z.array(OwnOffer), next_cursor: z.string().nullable() });

const SEEDANCE = { connection: "ark", path: ARK_PATH, models: [MODEL], price: { credits: 60 } };
const BODY = {
  type: "object",
  title: "Seedance",
  description: "Generates a video.",
  properties: {
    prompt: { type: "string", examples: ["a fox"] },
    duration: { type: "integer", minimum: 1, maximum: 12, default: 5 },
    image: { type: "string", format: "uri" },
  },
  required: ["prompt"],
};

/** Returns a new account, and what it reads of a relay with these offers. */
async function aReader(
  offersFor: (account: string) => readonly object[],
  { role = "full", ...more }: { readonly role?: string; readonly CONNECTIONS?: string } = {},
) {
  const account = await anAccount();
  const { key } = await aKey(account, role);
  const bindings = { ...BINDINGS, ...more, OFFERS: JSON.stringify(offersFor(account)) };
  const get = (path: string) => callWith(bindings, path, { key });
  const list = async () => Page.parse(await (await get("/v1/offers")).json()).data;
  const read = async (name: string) =>
    OwnOffer.parse(await (await get(`/v1/offers/${name}`)).json());
  return { account, get, list, read };
}

it("with the key of an account, GET /v1/offers shows of each offer what the account sends, where and at which price, and nothing of how the operator fulfils it", async () => {
  const offer = {
    ...SEEDANCE,
    name: "video",
    title: "Seedance 2.0",
    description: "Videos of at most 10 seconds.",
    limits: { "/duration": { max: 10 } },
    body: BODY,
    tool: "film",
    rank: 7,
    uploads: true,
  };
  const { list, read } = await aReader(() => [offer]);
  const [shown] = await list();
  expect(shown).toEqual({
    name: "video",
    title: "Seedance 2.0",
    description: "Videos of at most 10 seconds.",
    method: "POST",
    path: "/v1/submit/video",
    models: [MODEL],
    body_schema: {
      type: "object",
      properties: {
        ...BODY.properties,
        duration: { type: "integer", minimum: 1, maximum: 10, default: 5 },
      },
      required: ["prompt"],
      additionalProperties: false,
    },
    query_schema: null,
    price: { credits: 60 },
    price_text: "Price: 60 credits, returned if the job fails.",
    example: [
      "curl -fsS https://relay.example.com/v1/submit/video",
      '-H "Authorization: Bearer $KEY"',
      "-H 'Idempotency-Key: order-1'",
      `-d '{"prompt":"a fox"}'`,
    ].join(" \\\n  "),
  });
  expect(JSON.stringify(shown)).not.toMatch(/ark|film/);
  expect(await read("video")).toEqual(shown);
});

it("the title and description of an offer without its own are those of the schema of its body", async () => {
  const { read } = await aReader(() => [{ ...SEEDANCE, name: "video", body: BODY }]);
  expect(await read("video")).toMatchObject({
    title: "Seedance",
    description: "Generates a video.",
  });
});

it("an offer without a body shows the path of the upstream's own call, the limits and the model as JSON Schema, and a price by usage in numbers and in words", async () => {
  const { read } = await aReader(() => [
    {
      connection: "fal",
      name: "pictures",
      path: "/fal-ai/flux/dev",
      models: ["fal-ai/flux/dev"],
      limits: {
        "/num_images": [1, 2],
        "/image_size/width": { min: 64, max: 1024, optional: true },
        "?fal_priority": { values: ["low"], optional: true },
      },
      price: { hold: 20, min: 1, per: { field: "duration", units: 1, credits: 2 } },
    },
    { ...SEEDANCE, name: "any-seedance", models: ["doubao-seedance-*"] },
  ]);
  expect(await read("pictures")).toMatchObject({
    path: "/v1/submit/fal/fal-ai/flux/dev",
    body_schema: {
      type: "object",
      properties: {
        num_images: { type: "number", enum: [1, 2] },
        image_size: {
          type: "object",
          properties: { width: { type: "number", minimum: 64, maximum: 1024 } },
          required: [],
        },
      },
      required: ["num_images"],
    },
    query_schema: {
      type: "object",
      properties: { fal_priority: { type: "string", enum: ["low"] } },
      required: [],
      additionalProperties: false,
    },
    price: { hold: 20, min: 1, per: { field: "duration", units: 1, credits: 2 } },
    price_text: expect.stringMatching(
      /^Price: 2 credits for 1 of duration, at least 1 and at most 20/,
    ),
  });
  expect(await read("any-seedance")).toMatchObject({
    path: `/v1/submit/ark${ARK_PATH}`,
    models: ["doubao-seedance-*"],
    body_schema: { properties: { model: { type: "string" } }, required: ["model"] },
    example: expect.stringContaining(`-d '{"model":"…"}'`),
  });
});

it("an offer for every path and an offer for keys of customers are shown as such: without an example, and with both keys in the example", async () => {
  const { read } = await aReader(() => [
    { connection: "fal", name: "all-of-fal", models: ["*"] },
    { ...SEEDANCE, name: "own-key", key: "customer" },
  ]);
  expect(await read("all-of-fal")).toMatchObject({
    path: "/v1/submit/fal/*",
    price: null,
    price_text: "Price: none.",
    example: null,
  });
  const { example } = await read("own-key");
  expect(example).toContain('-H "Authorization: Bearer $UPSTREAM_KEY" \\\n  -H "Relay-Key: $KEY"');
});

it("the schemas of offers are valid JSON Schemas, and each example has a body that its schema permits", async () => {
  const { list } = await aReader(() => [
    { ...SEEDANCE, name: "video", limits: { "/duration": { max: 10 } }, body: BODY },
    {
      connection: "replicate",
      name: "open",
      path: "/v1/predictions",
      models: ["a/*"],
      limits: { "/input/seconds": { min: 2, max: 8 }, "/input/fps": [24], "/input/audio": [true] },
    },
  ]);
  const ajv = new Ajv2020({ strict: false });
  for (const { body_schema, example } of await list()) {
    const [, body = ""] = /-d '(.*)'$/.exec(example ?? "") ?? [];
    expect(ajv.validate(body_schema, JSON.parse(body)), ajv.errorsText()).toBe(true);
  }
});

it("an account with an offer of its own sees this offer in place of the general one for the same calls, which it gets as 404", async () => {
  const { get, list } = await aReader((account) => [
    { ...SEEDANCE, name: "general" },
    { ...SEEDANCE, name: "special", price: { credits: 45 }, accounts: [account] },
  ]);
  const offers = await list();
  expect(offers.map(({ name, price }) => [name, price])).toEqual([["special", { credits: 45 }]]);
  expect(await refusal(await get("/v1/offers/general"))).toEqual({
    status: 404,
    code: "not_found",
  });
});

it("an account with a tag sees and pays by the price list of the tag, and reads neither the tag nor the general price", async () => {
  anArk();
  const account = await anAccount(100);
  const settings = { method: "PUT", body: { tags: ["silver", "gold"] } };
  expect((await call(`/v1/accounts/${account}`, settings)).status).toBe(200);
  const { key } = await aKey(account);
  const offer = { ...SEEDANCE, body: BODY, tool: "video" };
  const OFFERS = JSON.stringify([
    { ...offer, name: "general" },
    { ...offer, name: "for-gold", accounts: ["tag:gold"], price: { credits: 45 } },
    { ...offer, name: "for-bronze", accounts: ["tag:bronze"], price: { credits: 50 } },
  ]);
  const bindings = { ...BINDINGS, OFFERS };
  const text = await (await callWith(bindings, "/v1/offers", { key })).text();
  const { data } = Page.parse(JSON.parse(text));
  expect(data.map(({ name, price }) => [name, price])).toEqual([["for-gold", { credits: 45 }]]);
  expect(text).not.toMatch(/tag:|silver|bronze|\b60\b/);
  const { result } = await ask("tools/list", {}, { key, bindings });
  expect(JSON.stringify(result).match(/Price: \d+ credits/g)).toEqual(["Price: 45 credits"]);
  const headers = { "Idempotency-Key": crypto.randomUUID() };
  const submission = { key, headers, body: { prompt: "a fox" } };
  expect((await callWith(bindings, "/v1/submit/general", submission)).status).toBe(202);
  expect(await booksOf(account)).toEqual(["grant 100", "charge 45"]);
});

it("an offer whose connection is disabled, or whose path starts no job, is not among those of an account", async () => {
  const { list, get } = await aReader(
    () => [
      { connection: "broken", name: "broken-video", path: "/jobs", models: ["m"] },
      { ...SEEDANCE, name: "nowhere", path: "/v1/nowhere" },
      { ...SEEDANCE, name: "video" },
    ],
    { CONNECTIONS: JSON.stringify({ broken: { provider: "generic" } }) },
  );
  expect((await list()).map(({ name }) => name)).toEqual(["video"]);
  expect((await get("/v1/offers/broken-video")).status).toBe(404);
});

it("a key that only reads reads offers too; a list has pages by name", async () => {
  const names = ["c", "a", "b"];
  const { get } = await aReader(
    () => names.map((name) => ({ ...SEEDANCE, name, models: [`${name}-*`] })),
    { role: "read" },
  );
  const page = async (query: string) => Page.parse(await (await get(`/v1/offers${query}`)).json());
  const first = await page("?limit=2");
  expect(first.data.map(({ name }) => name)).toEqual(["a", "b"]);
  const second = await page(`?limit=2&cursor=${first.next_cursor}`);
  expect(second.data.map(({ name }) => name)).toEqual(["c"]);
  expect(second.next_cursor).toBe(null);
});

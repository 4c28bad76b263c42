import { expect, it } from "vitest";
import { MAX_KEY_CHARS, readCustomerKey } from "../../src/api/submit/customer-credential.ts";
import type { UpstreamProvider } from "../../src/providers/provider.ts";
import { PROVIDERS } from "../../src/providers/registry.ts";

const KEY = "test-only-customer-key";
const NOW = 1_790_000_000_000;

function adapterOf(name: string): UpstreamProvider {
  const adapter = PROVIDERS.get(name);
  if (adapter === undefined) throw new Error(`there is no provider ${name}`);
  return adapter;
}

function read(name: string, headers: Readonly<Record<string, string>>) {
  return readCustomerKey(new Headers(headers), adapterOf(name));
}

/** Returns the header and the message of a refusal. */
function faultOf(name: string, headers: Readonly<Record<string, string>>) {
  const result = read(name, headers);
  if (result.ok) throw new Error("the key was accepted");
  return [result.error.header, result.error.message];
}

/** Builds a JSON Web Token with these claims. */
function aToken(claims: object | string): string {
  const text = typeof claims === "string" ? claims : JSON.stringify(claims);
  const parts = [JSON.stringify({ alg: "HS256", typ: "JWT" }), text, "signature"];
  return parts.map((part) => Buffer.from(part).toString("base64url")).join(".");
}

it.each([...PROVIDERS.keys()])(
  "for the provider %s, the relay reads a customer's own API key from the header in which it sends the operator's key to the upstream",
  async (name) => {
    const headers = await adapterOf(name).polls.headers(KEY, NOW);
    const result = read(name, headers);
    if (!result.ok) throw new Error(result.error.message);
    const { key, headers: sent } = result.value;
    expect(key).toBe(KEY);
    expect(headers).toMatchObject(sent);
    expect(Object.keys(sent)).toHaveLength(1);
  },
);

it.each([
  ["ark", { Authorization: `Bearer ${KEY}` }],
  ["ark", { authorization: `bearer ${KEY}` }],
  ["replicate", { Authorization: `Token ${KEY}` }],
  ["fal", { Authorization: `Key ${KEY}` }],
  ["bfl", { "x-key": KEY }],
])(
  "a submission to %s may have the customer's own API key in the header %o, which the relay sends to the upstream unchanged",
  (name, headers) => {
    const result = read(name, headers);
    expect(result).toMatchObject({ ok: true, value: { key: KEY } });
    const sent = result.ok ? Object.values(result.value.headers) : [];
    expect(sent).toEqual(Object.values(headers));
  },
);

it.each([
  ["ark", {}, "Authorization", "is required, with your own key of ark: Bearer and the key"],
  ["bfl", {}, "x-key", "is required, with your own key of bfl: the key"],
  ["ark", { Authorization: KEY }, "Authorization", "must be Bearer and the key"],
  ["ark", { Authorization: `Key ${KEY}` }, "Authorization", "must be Bearer and the key"],
  ["replicate", { Authorization: KEY }, "Authorization", "must be Bearer or Token and the key"],
  ["ark", { Authorization: "Bearer" }, "Authorization", "must be Bearer and the key"],
  ["ark", { Authorization: "Bearer one two" }, "Authorization", "must be Bearer and the key"],
  ["ark", { Authorization: "Bearer a, Bearer b" }, "Authorization", "must be Bearer and the key"],
  ["ark", { Authorization: "Bearer schlüssel" }, "Authorization", "must be Bearer and the key"],
  ["bfl", { "x-key": "one, two" }, "x-key", "must be the key"],
  ["ark", { "x-api-key": KEY }, "x-api-key", "must be left out: ark takes its key in Author"],
  [
    "ark",
    { Authorization: `Bearer ${KEY}`, "MJ-Api-Secret": KEY },
    "mj-api-secret",
    "must be left out: ark takes its key in Authorization",
  ],
  [
    "bfl",
    { "x-key": KEY, Authorization: `Bearer ${KEY}` },
    "Authorization",
    "must be left out: bfl takes its key in x-key",
  ],
])(
  "when customers must send their own API keys, a submission to %s with the headers %o is refused, and the refusal names the header %s",
  (name, headers, header, message) => {
    const [at, text] = faultOf(name, headers);
    expect(at).toBe(header);
    expect(text).toContain(message);
    expect(text).not.toContain(KEY);
  },
);

it("the header with a customer's own API key may have 4,096 characters, scheme (Bearer) included; a longer one is refused, and the refusal names the header", () => {
  const longest = "k".repeat(MAX_KEY_CHARS - "Bearer ".length);
  expect(read("ark", { Authorization: `Bearer ${longest}` })).toMatchObject({ ok: true });
  const message = "must have a key of at most 4096 characters";
  const refused = faultOf("ark", { Authorization: `Bearer ${"k".repeat(10_240)}` });
  expect(refused).toEqual(["Authorization", message]);
});

it.each([
  ["that Kling makes of a key pair", "kling", { iss: "access", exp: 1_790_001_800, nbf: 1 }],
  ["that has a time of expiry", "ark", { exp: 1 }],
  ["whose claim exp is no number", "ark", { exp: "soon" }],
])(
  "as a customer's own API key, a JSON Web Token %s is refused, because the relay needs a key with which it can still poll later",
  (_, name, claims) => {
    const [header, message] = faultOf(name, { Authorization: `Bearer ${aToken(claims)}` });
    expect(header).toBe("Authorization");
    expect(message).toContain("does not expire");
    expect(message).toContain(name);
  },
);

it.each([
  [
    "a JSON Web Token without a time of expiry, as MiniMax issues it,",
    aToken({ iss: "minimax", iat: 1 }),
  ],
  ["a token whose claims are no JSON", aToken("exp")],
  ["a token whose claims are no base64", "a.b.c"],
  ["a key with two dots", "ak.4711.sk"],
])("%s is accepted as a customer's own API key, because it states no time of expiry", (_, key) => {
  expect(read("minimax", { Authorization: `Bearer ${key}` })).toMatchObject({ ok: true });
});

import { listDurableObjectIds, runInDurableObject } from "cloudflare:test";
import { env } from "../../src/startup.ts";
import { beforeEach, expect, it, vi } from "vitest";
import { claimObject, HASH_DIGITS } from "../../src/objects/object-names.ts";
import { ROUTES } from "../../src/api/routes.ts";
import { aKey, anAccount, calledAccountObjects, profileStub, tablesOf } from "./accounts.ts";
import { call, OPERATOR_KEY, post } from "./client.ts";
import { useClock } from "./clock.ts";
import { hooked } from "./hooked.ts";
import { aCompletion, register } from "./tasks.ts";

useClock();

const hex = (digit: string) => digit.repeat(48);

let account = "";
let good = "";
let revoked = "";

beforeEach(async () => {
  account = await anAccount();
  good = (await aKey(account)).key;
  const { id, key } = await aKey(account);
  revoked = key;
  await call(`/v1/accounts/${account}/keys/${id}`, { method: "DELETE" });
});

/** Keys that must not be accepted, made from the API keys of the account of the test. */
const JUNK: readonly [string, () => string][] = [
  ["for an account that does not exist", () => `trk_${crypto.randomUUID()}_${hex("a")}`],
  ["that is invented for an existing account", () => `trk_${account}_${hex("a")}`],
  ["that has the MAC of another key", () => good.slice(0, -43) + revoked.slice(-43)],
  ["that is revoked", () => revoked],
  ["that lacks its last character", () => good.slice(0, -1)],
  ["with a changed last digit", () => good.replace(/.$/, (end) => (end === "0" ? "1" : "0"))],
  ["whose account id was replaced", () => good.replace(account, `${account}x`)],
  ["with an empty account id", () => `trk__${hex("a")}`],
  [
    "whose account id was replaced by the name of the Durable Object of a key",
    () => `trk_key:${"a".repeat(64)}_${hex("a")}`,
  ],
  ["that was never imported", () => `sk-live-${crypto.randomUUID()}`],
  ["that is too long", () => "k".repeat(257)],
  ["that contains SQL", () => "'OR/**/1=1;DROP/**/TABLE/**/keys--"],
];

async function challenge(key: string | null, authorization?: string) {
  const headers: Record<string, string> = authorization === undefined ? {} : { authorization };
  const response = await call(`/v1/accounts/${account}`, { key, headers });
  const scheme = response.headers.get("WWW-Authenticate");
  return { status: response.status, scheme, body: await response.text() };
}

/** Reads the rows of the account's keys. */
function keyRows(): Promise<unknown> {
  return runInDurableObject(profileStub(account), (_, { storage }) =>
    storage.sql.exec("SELECT * FROM api_keys ORDER BY id").toArray(),
  );
}

/** Returns the ids of all account objects, and all that the 16 objects with claims to keys store. */
async function accountObjects() {
  const claims = await Promise.all(
    HASH_DIGITS.map((digit) =>
      runInDurableObject(claimObject(env, digit), async (_, { storage }) => [
        tablesOf(storage.sql),
        Array.from(storage.kv.list()),
        await storage.getAlarm(),
      ]),
    ),
  );
  return { claims, ids: (await listDurableObjectIds(env.ACCOUNTS)).map(String).toSorted() };
}

it.each(JUNK)(
  "a request with a key %s gets the same 401 response as a wrong operator key, and nothing about the key is stored",
  async (_, make) => {
    const expected = await challenge("a-wrong-operator-key");
    expect(expected).toMatchObject({ status: 401, scheme: expect.stringMatching(/^Bearer/) });
    const before = await keyRows();
    expect(await challenge(make())).toEqual(expected);
    expect(await keyRows()).toEqual(before);
  },
);

it("an account key is accepted only as a whole Bearer token, not in another scheme, with quotes or with text after it", async () => {
  const [noKey, wrongKey] = [await challenge(null), await challenge("a-wrong-operator-key")];
  for (const authorization of [good, `Basic ${good}`, `Bearer ${good} x`]) {
    expect(await challenge(null, authorization)).toEqual(noKey);
  }
  expect(await challenge(null, `Bearer "${good}"`)).toEqual(wrongKey);
  expect(await challenge(null, `bearer ${good}`)).toMatchObject({ status: 200 });
});

it("a request with an unknown API key creates no Durable Object except the 16 that hold hashes of keys, and stores nothing in them", async () => {
  const before = await accountObjects();
  for (let count = 0; count < 20; count++) {
    const name = crypto.randomUUID();
    await call(`/v1/accounts/${name}`, { key: `trk_${name}_${hex("b")}_${"m".repeat(43)}` });
    await post("/v1/tasks", { model: "m" }, { key: `sk-live-${name}` });
  }
  expect(await accountObjects()).toEqual(before);
});

/** Operator keys and relay secrets of the relay under test. */
const KEYS = env.OPERATOR_KEYS.split(" ");
const SECRETS = env.RELAY_SECRET.split(" ");
const DIGEST_BYTES = 32;

/** Returns wrong values whose beginning agrees with `right` in none, half and nearly all of the characters. */
function wrongLike(right: string): readonly (readonly [string, string])[] {
  const flipped = (at: number) => {
    const char = right[at] === "A" ? "B" : "A";
    return right.slice(0, at) + char + right.slice(at + 1);
  };
  const half = Math.floor(right.length / 2);
  return [
    ["differs in its first character", flipped(0)],
    ["differs in the middle", flipped(half)],
    ["differs in its last but one character", flipped(right.length - 2)],
    ["has nothing in common", right.replaceAll(/\w/g, "z")],
  ];
}

/** Records the platform's constant-time comparisons, with the lengths of the compared values. */
function watchComparisons() {
  const equal = vi.spyOn(crypto.subtle, "timingSafeEqual");
  const verified = vi.spyOn(crypto.subtle, "verify");
  return {
    equal: () => equal.mock.calls.map(([a, b]) => [a.byteLength, b.byteLength]),
    verified: () => verified.mock.calls.map(([, , mac]) => mac.byteLength),
  };
}

const guarded = ROUTES.filter(({ access }) => access !== "anyone");
const wrongKeys = [
  ...KEYS.flatMap(wrongLike),
  ["is longer", `${OPERATOR_KEY}x`],
  ["is shorter", OPERATOR_KEY.slice(0, -1)],
  ["is one character", "t"],
] as const;

it.each(guarded.map((route) => [route.method, route.path] as const))(
  "%s %s compares the hash of a wrong key with that of every operator key in constant time, whatever part of the key is right",
  async (method, path) => {
    const asked = path.replaceAll(/\{\+?\w+\}/g, "00000000-0000-4000-8000-000000000000");
    const seen = [];
    for (const [, key] of wrongKeys) {
      const { equal } = watchComparisons();
      expect((await call(asked, { method, key })).status).toBe(401);
      seen.push(equal());
      vi.restoreAllMocks();
    }
    const each = KEYS.map(() => [DIGEST_BYTES, DIGEST_BYTES]);
    expect(seen).toEqual(wrongKeys.map(() => each));
  },
);

it("a request with an operator key computes only one SHA-256 hash, that of the sent key, because the hashes of the configured keys are cached", async () => {
  await call("/healthz");
  const digest = vi.spyOn(crypto.subtle, "digest");
  expect((await call("/healthz")).status).toBe(200);
  expect(digest).toHaveBeenCalledOnce();
});

it("a wrong key that resembles an account's key is looked up by its hash, without a call to that account's Durable Object", async () => {
  const names = calledAccountObjects();
  for (const [, wrong] of wrongLike(good)) {
    expect((await call(`/v1/accounts/${account}`, { key: wrong })).status).toBe(401);
  }
  for (const name of names) expect(name).not.toContain("trk_");
  expect(names.filter((name) => name.includes(account))).toEqual([]);
});

it("a wrong token in a hook URL is compared in constant time with the right one under every RELAY_SECRET, whatever part of it is right", async () => {
  const { hookUrl } = await hooked({ provider: "ark" });
  const { pathname } = new URL(hookUrl);
  const token = pathname.split("/").at(-1) ?? "";
  for (const [, wrong] of wrongLike(token)) {
    const { verified } = watchComparisons();
    const path = pathname.replace(token, wrong);
    expect((await call(path, { method: "POST", body: {}, key: null })).status).toBe(404);
    expect(verified()).toEqual(SECRETS.map(() => DIGEST_BYTES));
    vi.restoreAllMocks();
  }
});

it("a wrong event signature is compared in constant time with the right one under every event secret, whatever part of it is right", async () => {
  const body = JSON.stringify(aCompletion(await register()));
  const right = btoa("0123456789abcdef0123456789abcdef");
  for (const [, wrong] of wrongLike(right.slice(0, 42))) {
    const { verified } = watchComparisons();
    const headers = {
      "webhook-id": "msg_1",
      "webhook-timestamp": String(Math.floor(Date.now() / 1000)),
      "webhook-signature": `v1,${wrong}${right.slice(42)}`,
    };
    expect((await call("/v1/events", { body, headers, key: null })).status).toBe(401);
    expect(verified()).toEqual(SECRETS.map(() => DIGEST_BYTES));
    vi.restoreAllMocks();
  }
});

import { env } from "cloudflare:workers";
import { afterEach, expect, it, vi } from "vitest";
import { ROUTES } from "../../src/api/routes.ts";
import { aKey, anAccount, calledAccountObjects } from "./accounts.ts";
import { hooked } from "./hooked.ts";
import { call, OPERATOR_KEY } from "./client.ts";
import { aCompletion, register } from "./tasks.ts";

/** The operator keys and relay secrets of the tested relay. */
const KEYS = env.OPERATOR_KEYS.split(" ");
const SECRETS = env.RELAY_SECRET.split(" ");
const DIGEST_BYTES = 32;

/** Returns wrong values that agree with `right` in none, half and nearly all of their characters. */
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

/** Watches the platform's constant-time comparisons; reports the lengths of what they compared. */
function watchComparisons() {
  const equal = vi.spyOn(crypto.subtle, "timingSafeEqual");
  const verified = vi.spyOn(crypto.subtle, "verify");
  return {
    equal: () => equal.mock.calls.map(([a, b]) => [a.byteLength, b.byteLength]),
    verified: () => verified.mock.calls.map(([, , mac]) => mac.byteLength),
  };
}

afterEach(() => void vi.restoreAllMocks());

const guarded = ROUTES.filter(({ access }) => access !== "anyone");
const wrongKeys = [
  ...KEYS.flatMap(wrongLike),
  ["is longer", `${OPERATOR_KEY}x`],
  ["is shorter", OPERATOR_KEY.slice(0, -1)],
  ["is one character", "t"],
] as const;

it.each(guarded.map((route) => [route.method, route.path] as const))(
  "%s %s compares the digest of a wrong bearer key with every operator key, however much of the key is right",
  async (method, path) => {
    const asked = path.replaceAll(/\{\w+\}/g, "00000000-0000-4000-8000-000000000000");
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

it("a wrong bearer key that resembles an account key is looked up by its digest", async () => {
  const account = await anAccount();
  const { key } = await aKey(account);
  const names = calledAccountObjects();
  for (const [, wrong] of wrongLike(key)) {
    expect((await call(`/v1/accounts/${account}`, { key: wrong })).status).toBe(401);
  }
  for (const name of names) expect(name).not.toContain("trk_");
  expect(names.filter((name) => name.includes(account))).toEqual([]);
});

it("a wrong hook token is compared in constant time under every secret, however much of the token is right", async () => {
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

it("a wrong event signature is compared in constant time under every secret, however much of the signature is right", async () => {
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

import { beforeAll, expect, it } from "vitest";
import type { HookContext } from "../../../src/providers/provider.ts";
import { aConnection, aHook, NOW, rfc8032Keys, tampered } from "../hook.ts";
import type { Scheme } from "./scheme.ts";
import { ATLASCLOUD, FAL, signedByFal } from "./schemes.ts";

const JWKS_URL = "https://rest.fal.ai/.well-known/jwks.json";
const SIGNATURE = "X-AtlasCloud-Webhook-Signature-Ed25519";
const ASKED_ONCE = [[JWKS_URL, false]];
const ASKED_TWICE = [
  [JWKS_URL, false],
  [JWKS_URL, true],
];

let published: CryptoKey;
let rotated: CryptoKeyPair;

beforeAll(async () => {
  published = (await rfc8032Keys()).verify;
  const generated = await crypto.subtle.generateKey("Ed25519", false, ["sign", "verify"]);
  if (!("privateKey" in generated)) throw new Error("generateKey returned no key pair");
  rotated = generated;
});

interface Setting {
  readonly scheme?: Scheme;
  readonly body?: string | Uint8Array;
  readonly userId?: string | null;
  readonly jwksUrl?: string | null;
  /** Cached keys, and fresh ones where they differ; null means that the keys cannot be fetched. */
  readonly keys?: readonly [readonly CryptoKey[] | null, (readonly CryptoKey[] | null)?];
}

/** Verifies a hook. @returns the result, and the keys that were requested. */
async function verified(
  headers: Readonly<Record<string, string>>,
  {
    scheme = FAL,
    userId = "user-0001",
    jwksUrl = null,
    keys = [[published]],
    ...given
  }: Setting = {},
) {
  const { body = scheme.body } = given;
  const asked: [string, boolean][] = [];
  const publicKeys: HookContext["publicKeys"] = async (url, isFresh) => {
    asked.push([url, isFresh]);
    return (isFresh && keys.length === 2 ? keys[1] : keys[0]) ?? null;
  };
  const connection = aConnection({ userId, jwksUrl });
  const context = { now: NOW, publicKeys };
  const verdict = await scheme.provider.hooks?.authenticate(
    aHook(headers, body),
    connection,
    context,
  );
  return { verdict, asked };
}

it("a fal hook whose signature matches any of fal's public keys is accepted as signed, and the relay fetches these keys once", async () => {
  const signed = await signedByFal(rotated.privateKey, FAL.body);
  const keys = [[published, rotated.publicKey]] as const;
  expect(await verified(signed, { keys })).toEqual({ verdict: "signed", asked: ASKED_ONCE });
});

it("the relay fetches fal's public keys from the jwks_url of the connection, if the connection has one", async () => {
  const url = "https://mirror.example/jwks.json";
  expect((await verified(FAL.headers, { jwksUrl: url })).asked).toEqual([[url, false]]);
});

it("a fal hook whose signature matches none of the cached public keys makes the relay fetch fal's present keys once", async () => {
  const signed = await signedByFal(rotated.privateKey, FAL.body);
  expect(await verified(signed, { keys: [[published], [rotated.publicKey]] })).toEqual({
    verdict: "signed",
    asked: ASKED_TWICE,
  });
  expect(await verified(signed, { keys: [[published], [published]] })).toEqual({
    verdict: "refused",
    asked: ASKED_TWICE,
  });
});

it("the signature check of a fal hook returns unavailable, not refused, when no cached key of fal matches and the present keys cannot be fetched", async () => {
  const signed = await signedByFal(rotated.privateKey, FAL.body);

  for (const keys of [[null], [[published], null], [[], null]] as const) {
    expect((await verified(signed, { keys })).verdict).toBe("unavailable");
  }
});

it("a fal hook with the user id of another customer is refused before the relay fetches fal's public keys", async () => {
  const headers = await signedByFal(rotated.privateKey, FAL.body, {
    "X-Fal-Webhook-User-Id": "user-0002",
  });
  const keys = [[rotated.publicKey]] as const;
  expect(await verified(headers, { keys })).toEqual({ verdict: "refused", asked: [] });
  expect((await verified(headers, { keys, userId: "user-0002" })).verdict).toBe("signed");
});

it("a fal hook with a valid signature is accepted, but treated as unsigned, when the relay's own user id at fal is not configured", async () => {
  const body = tampered(FAL.body);
  expect((await verified(FAL.headers, { userId: null })).verdict).toBe("unsigned");
  expect((await verified(FAL.headers, { userId: null, body })).verdict).toBe("refused");
  expect((await verified({}, { userId: null })).verdict).toBe("refused");
});

it.each(Object.keys(FAL.headers))(
  "the relay does not fetch fal's public keys for a hook without the header %s",
  async (name) => {
    expect((await verified({ ...FAL.headers, [name]: "" })).asked).toEqual([]);
  },
);

const ATLASCLOUD_URL = "https://api.atlascloud.ai/api/v1/webhooks/jwks.json";

it.each<[string, string, "valid" | "other" | null, ("valid" | "other" | null)?]>([
  ["unsigned when the signature matches a cached public key", "unsigned", "valid"],
  ["unsigned when the signature matches a newly fetched public key", "unsigned", "other", "valid"],
  ["refused when the signature matches no newly fetched public key", "refused", "other", "other"],
  [
    "unavailable, not refused, when no cached public key matches and fresh ones cannot be fetched",
    "unavailable",
    "other",
    null,
  ],
  ["unavailable when no public keys can be fetched", "unavailable", null],
])(
  "the signature check of an Atlas Cloud hook, whose keys all customers of the provider share, returns %s",
  async (_, verdict, cached, fresh) => {
    const keysOf = (name: typeof cached) =>
      name && [name === "valid" ? published : rotated.publicKey];
    const keys =
      fresh === undefined
        ? ([keysOf(cached)] as const)
        : ([keysOf(cached), keysOf(fresh)] as const);
    expect(await verified(ATLASCLOUD.headers, { scheme: ATLASCLOUD, keys })).toEqual({
      verdict,
      asked: keys.map((_set, i) => [ATLASCLOUD_URL, i === 1]),
    });
  },
);

it("a hook of Atlas Cloud is also accepted, treated as unsigned, when its Ed25519 signature is in the header X-AtlasCloud-Webhook-Signature", async () => {
  const { [SIGNATURE]: signature = "", ...others } = ATLASCLOUD.headers;
  const moved = { ...others, "X-AtlasCloud-Webhook-Signature": signature };
  expect((await verified(moved, { scheme: ATLASCLOUD })).verdict).toBe("unsigned");
});

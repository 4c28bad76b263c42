import { beforeAll, describe, expect, it } from "vitest";
import { fal } from "../../../src/providers/fal.ts";
import type { HookContext } from "../../../src/providers/provider.ts";
import { aConnection, aHook, hex, NOW, NOW_S, otherSpellings, tampered } from "../hook.ts";

const USER = "user-0001";
const JWKS_URL = "https://rest.fal.ai/.well-known/jwks.json";
const BODY =
  '{"request_id":"req-0001","gateway_request_id":"req-0001","status":"OK","payload":{"video":{"url":"https://v3.fal.media/files/a/b.mp4"},"seed":42}}';
/** Of the first key pair of RFC 8032 §7.1, over the body above. */
const SIGNATURE =
  "64c9ec33e2fb970a3b7b4bf878f537f78e063e91582d8141368d8f27662cf88829791f7b7ef2951b02c8f06ded7adf76aec8eddc19e986b2d2b33fef4b2b940e";
const PUBLISHED = {
  kty: "OKP",
  crv: "Ed25519",
  x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
};
const SENT = {
  "X-Fal-Webhook-Request-Id": "req-0001",
  "X-Fal-Webhook-User-Id": USER,
  "X-Fal-Webhook-Timestamp": `${NOW_S}`,
  "X-Fal-Webhook-Signature": SIGNATURE,
};

let published: CryptoKey;
let pair: CryptoKeyPair;

beforeAll(async () => {
  published = await crypto.subtle.importKey("jwk", PUBLISHED, "Ed25519", false, ["verify"]);
  const generated = await crypto.subtle.generateKey("Ed25519", false, ["sign", "verify"]);
  if (!("privateKey" in generated)) throw new Error("That is no key pair.");
  pair = generated;
});

interface Setting {
  readonly body?: string | Uint8Array;
  readonly userId?: string | null;
  readonly jwksUrl?: string | null;
  readonly now?: number;
  /** What is published: at hand, and when asked afresh. */
  readonly keys?: readonly [readonly CryptoKey[] | null, (readonly CryptoKey[] | null)?];
}

/** What `fal` makes of a hook, and which keys it asked for on the way. */
async function checked(
  headers: Readonly<Record<string, string | undefined>>,
  { body = BODY, userId = USER, jwksUrl = null, now = NOW, keys = [[published]] }: Setting = {},
) {
  const asked: [string, boolean][] = [];
  const publicKeys: HookContext["publicKeys"] = async (url, isFresh) => {
    asked.push([url, isFresh]);
    return (isFresh && keys.length === 2 ? keys[1] : keys[0]) ?? null;
  };
  const connection = aConnection({ userId, jwksUrl });
  const hook = aHook(headers, body);
  return { verdict: await fal.hooks?.authenticate(hook, connection, { now, publicKeys }), asked };
}

async function verdictOn(...of: Parameters<typeof checked>) {
  return (await checked(...of)).verdict;
}

/** Headers signed with the generated key. */
async function signing(changes: Readonly<Record<string, string>>, body = BODY) {
  const headers = { ...SENT, ...changes };
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(body));
  const message = [
    headers["X-Fal-Webhook-Request-Id"],
    headers["X-Fal-Webhook-User-Id"],
    headers["X-Fal-Webhook-Timestamp"],
    hex(new Uint8Array(digest)),
  ].join("\n");
  const bytes = new TextEncoder().encode(message);
  const signature = await crypto.subtle.sign("Ed25519", pair.privateKey, bytes);
  return { ...headers, "X-Fal-Webhook-Signature": hex(new Uint8Array(signature)) };
}

describe("the signature of fal", () => {
  it("is accepted as composed by hand with the key of RFC 8032", async () => {
    expect(await checked(SENT)).toEqual({ verdict: "signed", asked: [[JWKS_URL, false]] });
  });

  it("is accepted under any of the published keys, also beyond ASCII", async () => {
    const body = '{"request_id":"früher 🦊"}';
    const keys = [[published, pair.publicKey]] as const;

    expect(await verdictOn(await signing({}, body), { body, keys })).toBe("signed");
  });

  it("is checked against the keys that the connection names", async () => {
    const { asked } = await checked(SENT, { jwksUrl: "https://mirror.example/jwks.json" });

    expect(asked).toEqual([["https://mirror.example/jwks.json", false]]);
  });

  it("is checked against fresh keys, once, when those at hand do not fit", async () => {
    const rotated = await checked(await signing({}), { keys: [[published], [pair.publicKey]] });
    const unknown = await checked(await signing({}), { keys: [[published], [published]] });

    const asked = [
      [JWKS_URL, false],
      [JWKS_URL, true],
    ];
    expect(rotated).toEqual({ verdict: "signed", asked });
    expect(unknown).toEqual({ verdict: "refused", asked });
  });

  it("cannot be checked while the keys are out of reach", async () => {
    expect(await verdictOn(SENT, { keys: [null] })).toBe("unavailable");
    expect(await verdictOn(await signing({}), { keys: [[published], null] })).toBe("unavailable");
    expect(await verdictOn(await signing({}), { keys: [[], null] })).toBe("unavailable");
  });

  it("is refused when another customer of fal had it signed", async () => {
    const headers = await signing({ "X-Fal-Webhook-User-Id": "user-0002" });
    const keys = [[pair.publicKey]] as const;

    expect(await checked(headers, { keys })).toEqual({ verdict: "refused", asked: [] });
    expect(await verdictOn(headers, { keys, userId: "user-0002" })).toBe("signed");
  });

  it("proves no body while it is not known which customer we are", async () => {
    expect(await verdictOn(SENT, { userId: null })).toBe("unsigned");
    expect(await verdictOn(SENT, { userId: null, body: tampered(BODY) })).toBe("refused");
    expect(await verdictOn({}, { userId: null })).toBe("refused");
  });

  it("covers every byte of the body", async () => {
    expect(await verdictOn(SENT, { body: tampered(BODY) })).toBe("refused");
    expect(await verdictOn(SENT, { body: JSON.stringify(JSON.parse(BODY), null, 1) })).toBe(
      "refused",
    );
  });

  it("covers the id of the request and the timestamp", async () => {
    expect(await verdictOn({ ...SENT, "X-Fal-Webhook-Request-Id": "req-0002" })).toBe("refused");
    expect(await verdictOn({ ...SENT, "X-Fal-Webhook-Timestamp": `${NOW_S + 1}` })).toBe("refused");
  });

  it.each(Object.keys(SENT))("is refused without %s, and no keys are asked for", async (name) => {
    for (const value of [undefined, ""]) {
      expect(await checked({ ...SENT, [name]: value })).toEqual({ verdict: "refused", asked: [] });
    }
  });

  it("is accepted within 300 s and refused beyond them", async () => {
    for (const [shift, verdict] of [
      [-301, "refused"],
      [-300, "signed"],
      [300, "signed"],
      [301, "refused"],
    ] as const) {
      expect(await verdictOn(SENT, { now: NOW + shift * 1000 })).toBe(verdict);
    }
  });

  it.each(otherSpellings(NOW_S))("is refused over the timestamp %j", async (timestamp) => {
    const headers = await signing({ "X-Fal-Webhook-Timestamp": timestamp });

    expect(await verdictOn(headers, { keys: [[pair.publicKey]] })).toBe("refused");
  });

  it.each([
    ["cut short", SIGNATURE.slice(0, -2)],
    ["cut by half a byte", SIGNATURE.slice(0, -1)],
    ["with a character that is not hex", `${SIGNATURE.slice(0, -1)}g`],
    ["with another last byte", `${SIGNATURE.slice(0, -2)}00`],
    ["too long", `${SIGNATURE}00`],
  ])("is refused %s", async (_, signature) => {
    expect(await verdictOn({ ...SENT, "X-Fal-Webhook-Signature": signature })).toBe("refused");
  });
});

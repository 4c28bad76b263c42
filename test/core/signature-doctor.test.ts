import { expect, it, vi } from "vitest";
import {
  examine,
  type OtherSigner,
  type Received,
  type Sent,
} from "../../src/security/doctor/examine.ts";
import type { Fault, Verdict } from "../../src/security/doctor/verdict.ts";
import { hmacSecret, hmacKey } from "../../src/security/hmac.ts";
import { keyringOf, accountSecrets } from "../../src/security/keyring.ts";
import { sign, signedHeaders } from "../../src/security/signature.ts";
import { signersOf } from "../../src/security/signers.ts";
import { ACCOUNT, ID, NOW, NOW_S } from "./builders.ts";

const OTHER_ID = "7d9f0a52-1c3e-4b8a-9f00-aa11bb22cc33";
const BODY = `{"id":"${ID}","status":"completed","model":"m","created_at":${NOW_S - 60},"output":{"urls":["https://cdn.example.com/ü+1.mp4"],"metadata":{"seed":1.0}}}`;
const relaySecrets = ["a-secret-of-a-test-0123456789abcdef"];
const config = { relaySecrets, signingSecrets: null, eventsSecrets: null, signingKeys: null };

const ring = await keyringOf(config);
if (ring === null) throw new Error("no keyring");
const keyring = ring;
const ALL = {
  callbackSecrets: await accountSecrets(config, ACCOUNT),
  signingKeys: keyring.signingKeys,
};
const PRESENT = ACCOUNT.generation;

function otherSigners(secrets: typeof keyring.callbackSecrets): readonly OtherSigner[] {
  return secrets.map(({ key }) => {
    const signer = { name: { scheme: "v1", age: "current" }, key } as const;
    return { what: "a secret of the relay itself", signer };
  });
}

/** The task's callback: attempts 1 and 2, the second 180 s after the first. */
const SENT: Sent = {
  taskId: ID,
  body: BODY,
  attempts: [1, 2].map((number) => ({ number, startedAt: NOW + (number - 1) * 180_000 })),
  owner: { account: ACCOUNT.id, endpoint: null },
  signers: await signersOf({ account: ACCOUNT }, PRESENT, config, keyring),
  others: [
    async () => await Promise.resolve([]),
    async () => await Promise.resolve(otherSigners(keyring.callbackSecrets)),
  ],
  sign: (message) => sign(message, ALL),
};

interface Signed {
  readonly id?: string;
  readonly timestamp?: string;
  readonly body?: string;
  readonly keys?: Parameters<typeof sign>[1];
}

async function signed({
  id = `msg_${ID}`,
  timestamp = String(NOW_S),
  body = BODY,
  keys = ALL,
}: Signed = {}) {
  const message = { id, timestamp, body };
  return signedHeaders(message, await sign(message, keys));
}

const HEADERS = await signed();
const [V1 = ""] = HEADERS["webhook-signature"].split(" ");
const only = (secrets: typeof ALL.callbackSecrets) => ({
  callbackSecrets: secrets,
  signingKeys: [],
});

function verdictOn(received: Partial<Received>, now = NOW + 1_000): Promise<Verdict> {
  return examine({ headers: HEADERS, body: BODY, ...received }, SENT, now);
}

/** A receiver that breaks the verification, the request as it passed this on, and the expected faults. */
type Broken = readonly [receiver: string, received: Partial<Received>, ...faults: Partial<Fault>[]];

const BROKEN: readonly Broken[] = [
  [
    "parses the body and writes it as JSON again",
    { body: JSON.stringify(JSON.parse(BODY)) },
    { code: "body_reserialised", byte: 176, sent: ".0}}}", received: "}}}" },
  ],
  [
    "adds white space to JSON",
    { body: JSON.stringify(JSON.parse(BODY), null, 2) },
    { code: "body_reserialised", byte: 1 },
  ],
  ["adds a line's end to the body", { body: `${BODY}\n` }, { code: "body_trimmed", byte: 181 }],
  [
    "reads the body as Latin-1",
    { body: BODY.replace("ü", "Ã¼") },
    { code: "body_charset", byte: 146 },
  ],
  ["decodes the body as a form", { body: BODY.replace("+", " ") }, { code: "body_form_decoded" }],
  [
    "encodes the body as a form",
    { body: `${encodeURIComponent(BODY)}=` },
    { code: "body_form_decoded" },
  ],
  ["writes the body as a JSON string", { body: JSON.stringify(BODY) }, { code: "body_quoted" }],
  ["prints the parsed body", { body: "[object Object]" }, { code: "body_not_json" }],
  [
    "reads only the beginning of the body",
    { body: BODY.slice(0, 100) },
    { code: "body_cut", byte: 100 },
  ],
  ["appends to the body", { body: `${BODY}{}` }, { code: "body_extended" }],
  ["hands an empty body to the check", { body: "" }, { code: "body_empty", byte: 0 }],
  [
    "changes a value of the body",
    { body: BODY.replace("completed", "failed") },
    { code: "body_changed", byte: 55 },
  ],
  [
    "combines the headers with the body of another task",
    { body: BODY.replace(ID, OTHER_ID) },
    { code: "body_of_other_task" },
  ],
  [
    "writes webhook-id in capitals",
    { headers: { ...HEADERS, "webhook-id": HEADERS["webhook-id"].toUpperCase() } },
    { code: "changed_id", expected: `msg_${ID}` },
  ],
  [
    "drops the beginning of webhook-id",
    { headers: { ...HEADERS, "webhook-id": ID } },
    { code: "changed_id", expected: `msg_${ID}` },
  ],
  [
    "hands the timestamp to the check in milliseconds",
    { headers: { ...HEADERS, "webhook-timestamp": `${NOW_S}000` } },
    { code: "timestamp_in_ms", expected: String(NOW_S) },
  ],
  [
    "puts its own clock in place of the timestamp",
    { headers: { ...HEADERS, "webhook-timestamp": String(NOW_S + 7) } },
    { code: "changed_timestamp", expected: String(NOW_S) },
  ],
  [
    "hands the timestamp to the check as a date",
    { headers: { ...HEADERS, "webhook-timestamp": "2026-10-20T12:00:00Z" } },
    { code: "malformed_header", header: "webhook-timestamp" },
  ],
  [
    "hands none of the webhook headers to the check",
    { headers: "Host: client.example.com\nContent-Type: application/json" },
    { code: "missing_header", header: "webhook-id" },
    { code: "missing_header", header: "webhook-timestamp" },
    { code: "missing_header", header: "webhook-signature" },
  ],
  [
    "hands no timestamp to the check",
    { headers: { ...HEADERS, "webhook-timestamp": undefined } },
    { code: "missing_header", header: "webhook-timestamp" },
  ],
  [
    "hands the signature to the check without its version (v1,)",
    { headers: { ...HEADERS, "webhook-signature": V1.slice(3) } },
    { code: "malformed_header", header: "webhook-signature" },
  ],
  [
    "writes the signature in small letters",
    { headers: { ...HEADERS, "webhook-signature": V1.toLowerCase() } },
    { code: "changed_signature" },
  ],
  [
    "URL-encodes the signature",
    { headers: { ...HEADERS, "webhook-signature": encodeURIComponent(V1) } },
    { code: "changed_signature" },
  ],
  [
    "gets a callback of another task, signed with another secret",
    {
      headers: await signed({
        id: `msg_${OTHER_ID}`,
        keys: only([...keyring.callbackSecrets]),
      }),
    },
    { code: "other_task", task_id: OTHER_ID },
  ],
  [
    "gets a callback signed with a secret of the relay itself, not of the account",
    { headers: await signed({ keys: only([...keyring.callbackSecrets]) }) },
    {
      code: "wrong_secret",
      message: `No signature of the header was made with a secret of the account ${ACCOUNT.id}, which signs the callbacks of its tasks, but with a secret of the relay itself.`,
      cure: `Read them again with GET /v1/accounts/${ACCOUNT.id}/signing-secrets. Test and production relays have different ones.`,
    },
  ],
  [
    "gets a callback signed with a secret of another relay",
    {
      headers: await signed({
        keys: only([await hmacSecret("whsec_c2VjcmV0IG9mIGFub3RoZXIgcmVsYXkgaGVyZQ==")]),
      }),
    },
    { code: "wrong_secret" },
  ],
];

it.each(BROKEN.map(([receiver, received, ...faults]) => [receiver, received, faults] as const))(
  "the signature doctor, which tells why a receiver rejects a callback's signature, names the fault when the receiver %s",
  async (_, received, faults) => {
    const verdict = await verdictOn(received);
    expect(verdict).toMatchObject({ verdict: "invalid", signed_by: [], faults });
    expect(verdict.faults).toHaveLength(faults.length);
  },
);

const SECRETS = [PRESENT, PRESENT + 1, PRESENT - 1].map((generation, at) => {
  return { scheme: "v1", age: ["current", "next", "previous"][at], generation };
});
const KEY = { scheme: "v1a", age: "current", kid: keyring.signingKeys[0]?.x };

it("the signature doctor, which checks a received callback, calls it valid when it arrived unchanged, and names its attempt and the secrets and keys that signed it", async () => {
  expect(await verdictOn({})).toEqual({
    verdict: "valid",
    signed_by: [...SECRETS, KEY],
    signed_with: `secret no. ${PRESENT} (current) of the account ${ACCOUNT.id}, not a secret of the relay itself`,
    account: ACCOUNT.id,
    attempt: 1,
    age_s: 1,
    faults: [],
  });
});

it.each([
  ["has a timestamp that is 412 s old (300 s are allowed)", 412, "too_old"],
  ["has a timestamp that is 412 s in the future", -412, "too_new"],
])(
  "the signature doctor, which checks a received callback, calls a validly signed one stale when it %s",
  async (_, ageS, code) => {
    const verdict = await verdictOn({}, NOW + ageS * 1_000);
    expect(verdict).toMatchObject({
      verdict: "stale",
      signed_with: expect.stringContaining(
        `of the account ${ACCOUNT.id}, not a secret of the relay`,
      ),
      age_s: ageS,
      faults: [{ code, by_s: 112 }],
    });
  },
);

it.each([
  [
    "the previous secret of the account",
    ALL.callbackSecrets.slice(2),
    [SECRETS[2]],
    [
      {
        code: "old_secret",
        message: `There is no signature with the present secret of the account ${ACCOUNT.id}, only with older ones.`,
        cure: `Verify with the older secret too (GET /v1/accounts/${ACCOUNT.id}/signing-secrets): a task keeps the secrets of the time of its creation.`,
      },
    ],
  ],
  ["the Ed25519 key", [], [KEY], [{ code: "only_v1a" }]],
])(
  "the signature doctor, which checks a received callback, calls it valid even if it is signed only with %s, and names this secret or key",
  async (_, secrets, signed_by, faults) => {
    const signingKeys = secrets.length === 0 ? ALL.signingKeys : [];
    const headers = await signed({ keys: { callbackSecrets: secrets, signingKeys } });
    expect(await verdictOn({ headers })).toMatchObject({ verdict: "valid", signed_by, faults });
  },
);

it("the signature doctor says of a callback that is too old and signed with a secret of the relay, not of the account, both", async () => {
  const headers = await signed({ keys: only([...keyring.callbackSecrets]) });
  expect(await verdictOn({ headers }, NOW + 412_000)).toMatchObject({
    verdict: "invalid",
    attempt: 1,
    age_s: 412,
    faults: [
      { code: "wrong_secret", message: expect.stringMatching(/, but with a secret of the relay/) },
      { code: "too_old", by_s: 112 },
    ],
  });
});

it("the signature doctor names an Ed25519 key as that of the relay when only its signature has arrived", async () => {
  const headers = await signed({ keys: { callbackSecrets: [], signingKeys: ALL.signingKeys } });
  const { signed_with } = await verdictOn({ headers });
  expect(signed_with).toBe("an Ed25519 key of the relay, which signs for all accounts");
});

it("the signature doctor, when it gets a validly signed callback of another task than the one that is examined, names that other task", async () => {
  const body = BODY.replace(ID, OTHER_ID);
  const headers = await signed({ id: `msg_${OTHER_ID}`, body });
  const faults = [{ code: "other_task", task_id: OTHER_ID }];
  expect(await verdictOn({ headers, body })).toMatchObject({
    verdict: "valid",
    attempt: 1,
    faults,
  });
});

const PROGRESS = `{"id":"${ID}","status":"processing","model":"m","created_at":${NOW_S - 60},"progress":40}`;
const PROGRESS_ID = "progress_0edf0c76-03df-4fc8-941b-1cc4f8b7c465";
const PROGRESS_HEADERS = await signed({ id: PROGRESS_ID, body: PROGRESS });

it("the signature doctor calls a progress callback valid when it arrived unchanged, and names no attempt", async () => {
  const verdict = await verdictOn({ headers: PROGRESS_HEADERS, body: PROGRESS });
  expect(verdict).toMatchObject({ verdict: "valid", attempt: null, age_s: 1, faults: [] });
  expect(verdict.signed_by).toEqual([...SECRETS, KEY]);
});

const BROKEN_PROGRESS: readonly Broken[] = [
  [
    "writes its body as JSON again",
    { body: PROGRESS.replaceAll(":", ": ") },
    { code: "body_reserialised" },
  ],
  ["hands an empty body to the check", { body: "" }, { code: "body_empty" }],
  [
    "encodes the body as a form",
    { body: `${encodeURIComponent(PROGRESS)}=` },
    { code: "body_form_decoded" },
  ],
  [
    "writes webhook-id in capitals",
    { headers: { ...PROGRESS_HEADERS, "webhook-id": PROGRESS_ID.toUpperCase() } },
    { code: "changed_id", expected: PROGRESS_ID },
  ],
  [
    "writes the signature in small letters",
    {
      headers: {
        ...PROGRESS_HEADERS,
        "webhook-signature": PROGRESS_HEADERS["webhook-signature"].toLowerCase(),
      },
    },
    { code: "changed_signature" },
  ],
  [
    "gets one that is signed with a secret of the relay itself, not of the account",
    {
      headers: await signed({
        id: PROGRESS_ID,
        body: PROGRESS,
        keys: only([...keyring.callbackSecrets]),
      }),
    },
    { code: "wrong_secret" },
  ],
  [
    "gets one of another task, signed with another secret",
    {
      body: PROGRESS.replace(ID, OTHER_ID),
      headers: await signed({
        id: PROGRESS_ID,
        body: PROGRESS.replace(ID, OTHER_ID),
        keys: only([...keyring.callbackSecrets]),
      }),
    },
    { code: "other_task", task_id: OTHER_ID },
  ],
];

it.each(BROKEN_PROGRESS.map(([receiver, received, fault]) => [receiver, received, fault] as const))(
  "the signature doctor names the fault of a progress callback when the receiver %s",
  async (_, received, fault) => {
    const given = { headers: PROGRESS_HEADERS, body: PROGRESS, ...received };
    expect(await verdictOn(given)).toMatchObject({ verdict: "invalid", faults: [fault] });
  },
);

it("the signature doctor, when it gets a validly signed progress callback of another task, names that other task", async () => {
  const body = PROGRESS.replace(ID, OTHER_ID);
  const headers = await signed({ id: PROGRESS_ID, body });
  const faults = [{ code: "other_task", task_id: OTHER_ID }];
  expect(await verdictOn({ headers, body })).toMatchObject({ verdict: "valid", faults });
});

const key = await hmacKey(new Uint8Array(32).fill(7));

it("the signature doctor, which checks a received callback, verifies each signature once with each secret, even if the body is far longer than the sent one", async () => {
  const verify = vi.spyOn(crypto.subtle, "verify");
  const signatures = [1, 2, 3].map((n) => `v1,${Buffer.alloc(32, n).toString("base64")}`);
  const headers = {
    "webhook-id": "msg_other",
    "webhook-timestamp": `${NOW}`,
    "webhook-signature": `${signatures.join(" ")} v1%2cAAAA`,
  };
  const sent = {
    taskId: ID,
    body: "{}",
    attempts: [{ number: 1, startedAt: NOW }],
    signers: [{ name: { scheme: "v1", age: "current" }, key }] as const,
    owner: { account: null, endpoint: null },
    others: [],
    sign: () => Promise.resolve("v1,AAAA"),
  };
  await examine({ headers, body: "[1]".repeat(70_000) }, sent, NOW);
  const long = verify.mock.calls.filter(([, , , content]) => content.byteLength > 200_000);
  vi.restoreAllMocks();
  expect(long).toHaveLength(signatures.length);
});

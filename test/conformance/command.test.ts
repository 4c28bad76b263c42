import { execFile } from "node:child_process";
import { expect, it } from "vitest";
import { ROOT } from "../process/harness/child.ts";
import { closedPort } from "../process/harness/receiver.ts";
import { played, playedBesideCorrect } from "./played.ts";
import {
  CORRECT,
  hmac,
  isAsymmetric,
  isConfused,
  listen,
  PRIVATE_KEY,
  type Receiver,
  SECRET,
} from "./receiver.ts";

const GENUINE =
  "completed failed unicode exact-bytes rotated-secret two-schemes slow-clock fast-clock repeated later-attempt after-forgery";
const MISSING = "missing-id missing-timestamp missing-signature unsigned";
const OLD = "old future malformed-timestamp";
const ALTERED =
  "after-forgery changed-body respelt-body empty-body changed-id changed-timestamp changed-signature";
const FORGED = `${ALTERED} cut-signature empty-signature other-version wrong-secret ${OLD} ${MISSING}`;
const UNSEEN =
  "Not seen: whether the receiver acted twice on a repeated request. It can say so with X-Acted: yes or no.";
const each = (cases: string, text: RegExp) => cases.split(" ").map(() => text);

it.each([
  ["that says with X-Acted whether it acted on a request", SECRET, {}, true, []],
  ["that does not say with X-Acted whether it acted on a request", SECRET, {}, false, [UNSEEN]],
  ["of v1a (Ed25519) signatures", PRIVATE_KEY, { isSigned: isAsymmetric }, true, []],
])(
  "npm run conformance finds no fault in a correct receiver of callbacks %s",
  async (_, secret, parts, tells, sentences) => {
    const url = await listen(parts, tells);
    expect(await played(url, secret)).toEqual({ isRight: true, wrong: "", sentences });
  },
);

const BROKEN: readonly [string, Partial<Receiver>, string, (string | RegExp)[]][] = [
  [
    "accepts anything",
    { answer: () => ({ status: 200 }) },
    FORGED,
    [/^It accepts every forged request: it does not verify/, UNSEEN],
  ],
  [
    "answers before it verifies",
    { answer: (isVerified, isNew) => ({ status: 202, acted: isVerified && isNew }) },
    FORGED,
    [/^It accepts every forged request: .+ or answers before it does\.$/],
  ],
  [
    "verifies with another secret",
    { isSigned: (content, signature) => signature === hmac(content, "whsec_AAAA") },
    GENUINE,
    [/^It refuses every genuine request \(401\): its secret is not the one of --secret/],
  ],
  [
    "answers 404, as when --to is not its URL",
    { answer: () => ({ status: 404 }) },
    GENUINE,
    [/^It refuses every genuine request \(404\): --to is probably not the URL/],
  ],
  ["checks no timestamp", { isRecent: () => true }, OLD, [/ten minutes ago/, /ahead/, /no number/]],
  [
    "refuses only old timestamps",
    { isRecent: (timestamp) => !(Date.now() / 1000 - Number(timestamp) > 300) },
    "future malformed-timestamp",
    [/checks only that the timestamp is not too old/, /no number/],
  ],
  [
    "allows the clocks to differ by only one minute",
    { isRecent: (timestamp) => Math.abs(Number(timestamp) - Date.now() / 1000) <= 60 },
    "slow-clock fast-clock",
    [/four minutes ago: it allows less/, /four minutes ahead/],
  ],
  [
    "verifies the signature over JSON that it has parsed and serialized again",
    { signedBody: (body) => body && JSON.stringify(JSON.parse(body)) },
    "exact-bytes respelt-body",
    [
      /^It answers 401 to a genuine request .+ not the bytes/,
      /^It accepts a request although its JSON/,
    ],
  ],
  [
    "reads the body as Latin-1",
    { signedBody: (body) => Buffer.from(body).toString("latin1") },
    "unicode",
    [/beyond ASCII/],
  ],
  [
    "compares only the first of several signatures",
    { signaturesIn: (header) => header.split(" ").slice(0, 1) },
    "rotated-secret two-schemes",
    [/it compares only the first signature/, /does not skip/],
  ],
  [
    "accepts a signature that is only the beginning of the right one",
    { isSigned: (content, signature) => hmac(content).startsWith(signature) },
    "cut-signature empty-signature",
    [/first ten characters/, /its signature is empty/],
  ],
  [
    "ignores the name of the scheme, such as v1, before a signature",
    { isSigned: (content, signature) => signature.split(",")[1] === hmac(content).split(",")[1] },
    "other-version",
    [/name of the scheme before the comma/],
  ],
  [
    "accepts any long signature, whatever the body",
    { isSigned: (_, signature) => signature.length > 40 },
    `${ALTERED} other-version wrong-secret`,
    [/another secret/, /^It does not act/, ...each(ALTERED, /^It accepts a request although /)],
  ],
  [
    "acts again on a repeated request",
    { answer: (isVerified) => ({ status: isVerified ? 204 : 401, acted: isVerified }) },
    "repeated later-attempt",
    [/^It acts twice .+ byte for byte\.$/, /^It acts twice .+ earlier attempt/],
  ],
  [
    "refuses a repeated request",
    { answer: (isVerified, isNew) => ({ status: isVerified ? (isNew ? 204 : 409) : 401 }) },
    "repeated later-attempt",
    [/^It answers 409 .+ a repetition has to be answered with 2xx/, /earlier attempt/],
  ],
  [
    "stores the webhook-id of a forged request",
    { storesFirst: true },
    "after-forgery",
    [/^It does not act .+: it stores the webhook-id of a request that it must refuse\.$/],
  ],
  [
    "acts before it verifies",
    { answer: (isVerified, isNew) => ({ status: isVerified ? 204 : 401, acted: isNew }) },
    FORGED,
    ["It acts on every forged request before it refuses it."],
  ],
  [
    "answers 500 to a request that lacks a header of the signature",
    { missing: { status: 500 } },
    MISSING,
    each(MISSING, /^It answers 500 instead of 4xx when .+ missing\.$/),
  ],
  [
    "closes the connection on a request that lacks a header of the signature",
    { missing: "close" },
    MISSING,
    each(MISSING, /^It closes the connection without an answer when /),
  ],
  [
    "answers 500 to the callback of a failed task",
    { answer: (...its) => (its[2].includes("error") ? { status: 500 } : CORRECT.answer(...its)) },
    "failed",
    [/^It answers 500 .+ task has failed: it expects an output/],
  ],
  [
    "answers every request with a redirect",
    { answer: () => ({ status: 307 }) },
    `${GENUINE} ${FORGED.replace("after-forgery ", "")}`,
    [
      /^It refuses every genuine request \(307\)/,
      "It answers every forged request with 307 instead of 4xx.",
    ],
  ],
];

it.each(BROKEN)(
  "npm run conformance names the fault of a receiver of callbacks that %s, and finds no fault in a correct receiver with the same requests",
  async (_, parts, wrong, sentences) => {
    expect(await playedBesideCorrect(parts)).toEqual({
      isRight: false,
      wrong,
      sentences: sentences.map((text) =>
        typeof text === "string" ? text : expect.stringMatching(text),
      ),
    });
  },
);

it.each<[string, Receiver["answer"], string, RegExp]>([
  [
    "takes the end of a task for a repetition of its progress",
    byTask(),
    "end-after-progress",
    /^It does not act .+: it takes the end for a repetition/,
  ],
  [
    "expects a number as the progress",
    (...its) => (its[2].includes(`:null`) ? { status: 500 } : CORRECT.answer(...its)),
    "progress-unknown",
    /^It answers 500 .+: it expects a number/,
  ],
])(
  "npm run conformance -- --progress names the fault of a receiver that asks for progress and %s",
  async (_, answer, wrong, sentence) => {
    expect(await playedBesideCorrect({ answer }, {}, true)).toEqual({
      isRight: false,
      wrong,
      sentences: [expect.stringMatching(sentence)],
    });
  },
);

/** Returns how a receiver answers that recognises repetitions by the id of the task. */
function byTask(): Receiver["answer"] {
  const seen = new Set<string>();
  return (isVerified, isNew, body) => {
    if (!isVerified) return CORRECT.answer(isVerified, isNew, body);
    const { id }: { readonly id: string } = JSON.parse(body);
    const acted = !seen.has(id);
    seen.add(id);
    return { status: 204, acted };
  };
}

it("when a receiver answers no request, npm run conformance reports this after some requests and does not send the others", async () => {
  const url = await listen({ answer: () => "hang" });
  expect(await played(url, SECRET, 0.2)).toEqual({
    isRight: false,
    wrong: "completed failed unicode",
    sentences: [
      expect.stringMatching(/^Not played: exact-bytes, .+, unsigned$/),
      "It answers nothing: no answer within 0.2 s.",
    ],
  });
});

it("npm run conformance names the fault of a receiver of Ed25519 signatures (v1a) that accepts an HMAC made with its public key as the secret", async () => {
  const control = { isSigned: isAsymmetric };
  expect(await playedBesideCorrect({ isSigned: isConfused }, control)).toMatchObject({
    wrong: "public-key-as-secret",
    sentences: [expect.stringMatching(/it lets the request choose the scheme\.$/)],
  });
});

const TO = "--to http://127.0.0.1:1/ --secret";

it.each([
  ["a --to that is no URL", "--to 127.0.0.1", /^--to must be the http or https URL/],
  ["a malformed --secret", `${TO} whsec_typo`, /^--secret must be whsec_ and the base64 of/],
  ["an altered private key", `${TO} ${PRIVATE_KEY.slice(0, -4)}AA==`, /^--secret must be/],
  ["a --timeout-s of 0", `${TO} ${SECRET} --timeout-s 0`, /^--timeout-s must be/],
  [
    "a --to at which nothing listens",
    `--to ${await closedPort()} --secret ${SECRET}`,
    /^No receiver answers at --to: ECONNREFUSED\.$/,
  ],
  ["an unknown option", "--wrong", /^Usage: npm run conformance -- /],
])(
  "npm run conformance with %s prints one line of error and exits with the code 2",
  async (_, options, line) => {
    const { code, stdout, stderr } = await command(options);
    expect([code, stdout, stderr.split("\n")]).toEqual([2, "", [expect.stringMatching(line)]]);
  },
);

it.each([
  [0, "a correct receiver", {}],
  [1, "a receiver that checks no timestamp", { isRecent: () => true }],
])("npm run conformance exits with the code %i after it has tested %s", async (code, _, parts) => {
  expect(await command(`--to ${await listen(parts)} --secret ${SECRET}`)).toMatchObject({ code });
});

async function command(
  options: string,
): Promise<{ code: unknown; stdout: string; stderr: string }> {
  const args = ["scripts/conformance.ts", ...options.split(" ")];
  const { promise, resolve } = Promise.withResolvers<Awaited<ReturnType<typeof command>>>();
  execFile(process.execPath, args, { cwd: ROOT }, (error, stdout, stderr) => {
    resolve({ code: error?.code ?? 0, stdout, stderr: stderr.trimEnd() });
  });
  return promise;
}

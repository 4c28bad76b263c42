import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { publicText, REDACTIONS } from "../../src/providers/redaction.ts";

// A right change must not fail by chance.
fc.configureGlobal({ seed: 20_261_121 });

/** Texts before and after each redaction when it is applied alone. */
const EXAMPLES: Readonly<Record<string, readonly (readonly [string, string])[]>> = {
  "user name and password of a URL": [
    ["HTTP://user:pass@host.example/x", "HTTP://host.example/x"],
    ["https://user:p@ss@host.example/x", "https://host.example/x"],
    ["https://host.example/@me", "https://host.example/@me"],
    ["https://a.example/b,ftp://user:p/w@host.example", "https://a.example/b,ftp://host.example"],
  ],
  "query and fragment of a URL": [
    ["see https://cdn.example/a.mp4?X-Sig=abc&e=1 now", "see https://cdn.example/a.mp4 now"],
    ['{"url":"https://cdn.example/a#t=1"}', '{"url":"https://cdn.example/a"}'],
    ["https://host.example/@me?x", "https://host.example/@me"],
  ],
  "query of an incomplete URL": [["GET /a.mp4?X-Sig=abc&e=1 failed", "GET /a.mp4 failed"]],
  "hook URL": [
    ["POST https://a.example/hooks/ark/0190f5c2/tOkEn", "POST https://a.example/hooks/ark/…"],
  ],
  "JSON Web Token": [
    ["expired: eyJhbGciOi.eyJpc3Mi.c2ln", "expired: …"],
    ["v1.token-eyJhbGciOi-eyJ.eyJpc3Mi", "v1.token-…"],
  ],
  "Authorization header": [
    ["Authorization: Bearer abc123def456", "Authorization: Bearer …"],
    ["Authorization: Key 12ab-34cd:56ef", "Authorization: Key …"],
  ],
  "token after the name of an authentication scheme": [
    ["Key 12ab-34cd:56ef is unknown", "Key … is unknown"],
    ["bearer a1b2c3d4e5 was refused", "bearer … was refused"],
  ],
  "value after the name of a secret": [
    ["api_key=abcd1234, sorry", "api_key=…, sorry"],
    ['{"access_key": "abcd1234"}', '{"access_key": "…"}'],
    ["password: hunter22", "password: …"],
  ],
  "key with a known prefix": [
    ["with sk-proj-abcdefgh123 and r8_abcdefghijk", "with … and …"],
    ["whsec_dGVzdC1rZXk=", "…="],
  ],
  "access key id": [["AKIAIOSFODNN7EXAMPLE is disabled", "… is disabled"]],
  "request id": [
    // new-api, once for each gateway on the way.
    [
      "status code 404 (request id: 20250619225120231967659nCl6icA7) (request id: 2025061922511890)",
      "status code 404",
    ],
    ["no_valid_channel_error (tid: 2026042803152273999503507393078)", "no_valid_channel_error"],
    ["Blocked (Request ID: 9417a243-e457-4075-895b-b68f3cda5303).", "Blocked."],
    ["内部错误（请求ID：021748512345678abcdef）", "内部错误"],
    // Ark.
    [
      "The parameter is not valid. Request id: 021748512345678901234567890abcdef0123456789",
      "The parameter is not valid.",
    ],
    ["Blocked. Request id: 02174", "Blocked."],
    ["Blocked (request_id=7)", "Blocked"],
    ["The request id 02174 was refused.", "The request id … was refused."],
    // OpenAI.
    [
      "Please include the request ID 05db48fb-224e-4ff7-8266-b72865ef4f1f in your message.",
      "Please include the request ID … in your message.",
    ],
    ["Overloaded: req_011CSHoEeqs5C35K2UUqR7Fy", "Overloaded: …"],
    [
      "(Service: Bedrock, Status Code: 400, Request ID: 0d3b5f2e-7c1a, Extended Request ID: a1b2c3d4)",
      "(Service: Bedrock, Status Code: 400, Request ID: …, Extended Request ID: …)",
    ],
    ['{"requestId":"a1b2c3d4e5","trace_id": "f6a7b8c9d0"}', '{"requestId":"…","trace_id": "…"}'],
    ["x-request-id=a1b2c3d4e5; log_id=20260101120000, x", "x-request-id=…; log_id=…, x"],
  ],
};

it("every redaction rule has examples in the redaction tests, and every example there belongs to a rule", () => {
  expect(REDACTIONS.map(({ what }) => what)).toEqual(Object.keys(EXAMPLES));
});

describe.each(REDACTIONS)("redaction of the $what", ({ what, redact }) => {
  it.each(EXAMPLES[what] ?? [])(
    `redaction of the ${what} shows the text %j as %j`,
    (text, shown) => {
      expect(redact(text)).toBe(shown);
      expect(publicText(text, [])).toBe(shown);
    },
  );
});

it.each([
  ["a sentence with sizes", "The input image is too large (5 MB > 4 MB)."],
  ["a question with a ratio and a URL", "Is 16:9 supported? See https://docs.example/ratios"],
  ["the word token", "token limit exceeded"],
  ["a sentence about request ids", "The request id must be unique (request_id: missing)."],
  ["a number after the words request id", "Every request id 404 is refused."],
  ["an id of a job", "The task cgt-20260101120000-abcde was not found"],
  ["a word that ends like the name of an id", "outid: 1234567890, stid=1234567890"],
  ["letters beyond ASCII", "Ungültige Eingabe: 画像が大きすぎます 🦊"],
  ["1,024 letters", "x".repeat(1024)],
])(
  "publicText, which removes secrets from a provider's text, leaves a harmless text as it is: %s",
  (_, text) => {
    expect(publicText(text, [])).toBe(text);
  },
);

it("publicText, which removes secrets from a provider's text, replaces the given secrets wherever they stand, and ignores an empty one", () => {
  expect(publicText("a(b)c=a(b)c.", ["a(b)c", ""])).toBe("…=….");
  expect(publicText("key of the path: s3cr3t/x", ["s3cr3t"])).toBe("key of the path: …/x");
});

it.each([
  ["one-byte", "x".repeat(5000), 1024],
  ["two-byte", "ß".repeat(5000), 1023],
  ["three-byte", "画".repeat(5000), 1023],
  ["four-byte", "🦊".repeat(5000), 1023],
])(
  "publicText, which makes a provider's text safe to show, cuts a long text of %s characters to at most 1 KB without splitting a character",
  (_, text, length) => {
    const shown = publicText(text, []);
    expect(new TextEncoder().encode(shown).length).toBe(length);
    expect(shown.slice(-1)).toBe("…");
    expect(text.startsWith(shown.slice(0, -1))).toBe(true);
  },
);

it("publicText, which makes a provider's text safe to show, examines only the text's first part, and leaves out a character that the end of this part cuts in two", () => {
  const url = "https://a.example/?".padEnd(8190, "q");
  expect(publicText(`${url} 🦊🦊`, [])).toBe("https://a.example/");
});

// A text of this length would exceed the time limit of the test if the work grew with the square of the
// length.
it.each([
  "https://",
  "key ",
  "api_key=",
  "http://a@",
  "token: ",
  "bearer\t",
  "request id ",
  "(request id: a",
  "request_id=a1",
  "tid:",
  "req_a",
])(
  "publicText, which makes a provider's text safe to show, shortens 4 MB of repeated %j in linear time",
  (text) => {
    expect(publicText(text.repeat(4_000_000 / text.length), []).length).toBeLessThanOrEqual(1024);
  },
);

it("publicText, which makes a provider's text safe to show, never throws, shows no given secret and returns at most 1 KB", () => {
  const secret = "5ecret";
  const part = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.constantFrom(secret, "https://", "?", "@", "token=", "key ", "\uD800", "🦊".repeat(200)),
  );
  fc.assert(
    fc.property(fc.array(part, { maxLength: 20 }), (parts) => {
      const shown = publicText(parts.join(""), [secret]);
      expect(shown).not.toContain(secret);
      expect(new TextEncoder().encode(shown).length).toBeLessThanOrEqual(1024);
    }),
  );
});

import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { failureOf, publicText } from "../../src/providers/failure.ts";

const SHOWN = { isGeneric: false, secrets: [] };

describe("the text of a failure", () => {
  it("is the provider's own where it has one", () => {
    expect(failureOf("failed", { code: "E7", text: "Out of memory." }, SHOWN)).toEqual({
      status: "failed",
      error: { code: "upstream_error", message: "Out of memory." },
      failure: { category: "provider", retryable: true },
    });
  });

  it.each([
    [{ code: "E7", text: null }, '"E7"'],
    [{ code: null, text: null }, 'The task ended upstream as "aborted".'],
    [null, 'The task ended upstream as "aborted".'],
    [{ code: "E7", text: " \n" }, "The upstream reported a failure."],
  ])("is made from what there is: %j", (error, message) => {
    expect(failureOf("aborted", error, SHOWN).error.message).toBe(message);
  });

  it("is generic where that is asked for, and keeps its category", () => {
    const error = { code: "SensitiveContent", text: "a secret of the provider" };

    expect(failureOf("failed", error, { isGeneric: true, secrets: [] })).toEqual({
      status: "failed",
      error: { code: "upstream_error", message: "The upstream reported a failure." },
      failure: { category: "moderation", retryable: false },
    });
  });

  it("does not name the secrets of the connection", () => {
    const errorText = { isGeneric: false, secrets: ["r8-abc", "r8-abc-longer", ""] };
    const error = { code: null, text: "no access with r8-abc-longer, nor r8-abc" };

    expect(failureOf("failed", error, errorText).error.message).toBe("no access with …, nor …");
  });
});

describe("the category of a failure", () => {
  it.each([
    ["failed", "OutputVideoSensitiveContentDetected", null, "moderation", false],
    ["failed", null, "Flagged by our content policy", "moderation", false],
    ["failed", null, "NSFW content detected", "moderation", false],
    ["failed", "SAFETY.INPUT.TEXT", null, "moderation", false],
    ["failed", "CreationPolicyViolation", null, "moderation", false],
    ["failed", "TooManyRequests", null, "rate_limited", true],
    ["failed", "QuotaExceeded", null, "rate_limited", true],
    ["failed", null, "HTTP 429", "rate_limited", true],
    ["failed", "generation_timeout", null, "timeout", true],
    ["failed", null, "The request timed out", "timeout", true],
    ["expired", null, null, "timeout", true],
    ["canceled", null, null, "canceled", false],
    ["CANCELLED", null, null, "canceled", false],
    ["failed", "InvalidParameter", null, "invalid_input", false],
    ["failed", null, "Unsupported image format", "invalid_input", false],
    ["failed", "InternalServerError", null, "provider", true],
    ["aborted", null, null, "provider", true],
  ] as const)(
    "of %s with code %j and text %j is told",
    (state, code, text, category, retryable) => {
      expect(failureOf(state, { code, text }, SHOWN).failure).toEqual({ category, retryable });
    },
  );

  it("is the adapter's where that knows better", () => {
    const error = { code: null, text: "invalid status", category: "provider" } as const;

    expect(failureOf("failed", error, SHOWN).failure.category).toBe("provider");
  });
});

describe("publicText", () => {
  it.each([
    ["see https://cdn.example/a.mp4?X-Sig=abc&e=1 now", "see https://cdn.example/a.mp4 now"],
    ['{"url":"https://cdn.example/a#t=1"}', '{"url":"https://cdn.example/a"}'],
    ["HTTP://user:pass@host.example/x", "HTTP://host.example/x"],
    ["https://user:p@ss@host.example/x?y", "https://host.example/x"],
    ["https://host.example/@me?x", "https://host.example/@me"],
    [
      "POST https://relay.example/hooks/ark/0190f5c2/tOkEn failed",
      "POST https://relay.example/hooks/ark/… failed",
    ],
    ["Authorization: Bearer abc123def456", "Authorization: Bearer …"],
    ["Authorization: Key 12ab-34cd:56ef", "Authorization: Key …"],
    ["api_key=abcd1234, sorry", "api_key=…, sorry"],
    ['{"access_key": "abcd1234"}', '{"access_key": "…"}'],
    ["password: hunter22", "password: …"],
    ["with sk-proj-abcdefgh123 and r8_abcdefghijk", "with … and …"],
    ["whsec_dGVzdC1rZXk=", "…="],
  ])("takes what is not for clients out of %j", (text, shown) => {
    expect(publicText(text, [])).toBe(shown);
  });

  it.each([
    "The input image is too large (5 MB > 4 MB).",
    "Is 16:9 supported? See https://docs.example/ratios",
    "token limit exceeded",
    "Ungültige Eingabe: 画像が大きすぎます 🦊",
  ])("leaves %j as it is", (text) => {
    expect(publicText(text, [])).toBe(text);
  });

  it("replaces known secrets wherever they stand, and is not confused by an empty one", () => {
    expect(publicText("a(b)c=a(b)c.", ["a(b)c", ""])).toBe("…=….");
    expect(publicText("key of the path: s3cr3t/x", ["s3cr3t"])).toBe("key of the path: …/x");
  });

  it.each([
    ["one byte", "x".repeat(5000), 1024],
    ["two bytes", "ß".repeat(5000), 1023],
    ["three bytes", "画".repeat(5000), 1023],
    ["four bytes", "🦊".repeat(5000), 1023],
  ])("ends within 1 KB and with a whole character of %s", (_, text, length) => {
    const shown = publicText(text, []);

    expect(new TextEncoder().encode(shown).length).toBe(length);
    expect(shown.slice(-1)).toBe("…");
    expect(text.startsWith(shown.slice(0, -1))).toBe(true);
  });

  it("keeps a text of exactly 1 KB", () => {
    expect(publicText("x".repeat(1024), [])).toBe("x".repeat(1024));
  });

  // Work that grows with the square of the length would not end within the time of a test.
  it.each(["https://", "key ", "api_key=", "http://a@", "token: ", "bearer\t"])(
    "is done with megabytes of %j",
    (text) => {
      const shown = publicText(text.repeat(4_000_000 / text.length), []);

      expect(shown.length).toBeLessThanOrEqual(1024);
    },
  );

  it("never shows a secret, never throws and always says something within 1 KB", () => {
    const secret = "5ecret";
    const part = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.constantFrom(secret, "https://", "?", "@", "token=", "key ", "\uD800", "🦊".repeat(200)),
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 20 }), (parts) => {
        const shown = publicText(parts.join(""), [secret]);

        expect(shown).not.toContain(secret);
        expect(shown).not.toBe("");
        expect(new TextEncoder().encode(shown).length).toBeLessThanOrEqual(1024);
      }),
    );
  });
});

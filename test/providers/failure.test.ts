import { expect, it } from "vitest";
import { failureOf } from "../../src/providers/failure.ts";

const SHOWN = { isGeneric: false, secrets: [] };

it.each([
  [{ code: "E7", text: "Out of memory." }, "Out of memory."],
  [{ code: "E7", text: null }, '"E7"'],
  [{ code: null, text: null }, 'The task ended upstream as "aborted".'],
  [null, 'The task ended upstream as "aborted".'],
  [{ code: "E7", text: " \n" }, "The upstream reported a failure."],
])(
  'the failure of a job in the state "aborted" with the provider\'s error %j is shown to clients with the message: %s',
  (error, message) => {
    expect(failureOf("aborted", error, SHOWN)).toEqual({
      status: "failed",
      error: { code: "upstream_error", message },
      failure: { category: "provider", retryable: true },
    });
  },
);

it("with ERROR_TEXT=generic the message of a failure is a fixed text, and its category is unchanged", () => {
  const error = { code: "SensitiveContent", text: "a secret of the provider" };
  expect(failureOf("failed", error, { isGeneric: true, secrets: [] })).toEqual({
    status: "failed",
    error: { code: "upstream_error", message: "The upstream reported a failure." },
    failure: { category: "moderation", retryable: false },
  });
});

it("the message of a failure does not contain the credentials with which the relay calls the provider", () => {
  const errorText = { isGeneric: false, secrets: ["r8-abc", "r8-abc-longer", ""] };
  const error = { code: null, text: "no access with r8-abc-longer, nor r8-abc" };
  expect(failureOf("failed", error, errorText).error.message).toBe("no access with …, nor …");
});

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
  ["failed", "CreditInsufficient", null, "provider", false],
  ["failed", null, "insufficient balance", "provider", false],
  ["failed", null, "User is locked. Reason: Exhausted balance.", "provider", false],
  ["failed", null, "The account is out of credits", "provider", false],
  ["failed", "budget_exhausted", null, "provider", false],
] as const)(
  "a failure with the state %s, the code %j and the text %j gets the category %s and retryable: %s",
  (state, code, text, category, retryable) => {
    expect(failureOf(state, { code, text }, SHOWN).failure).toEqual({ category, retryable });
  },
);

it("a failure has the category that the provider's adapter sets, even if its text suggests another", () => {
  const error = { code: null, text: "invalid status", category: "provider" } as const;
  expect(failureOf("failed", error, SHOWN).failure.category).toBe("provider");
});

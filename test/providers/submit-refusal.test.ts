import { expect, it } from "vitest";
import {
  finalRefusalEnd,
  refusalByCode,
  refusalOfStatus,
} from "../../src/providers/submit-refusal.ts";
import { ADAPTERS } from "./adapters.ts";
import { PROVIDERS } from "../../src/providers/registry.ts";
import { REFUSAL_CASES, titleOf } from "./refusal-cases.ts";

it.each(REFUSAL_CASES.map(([...given]) => ({ given, title: titleOf(given) })))(
  "the relay classifies an answer that refuses a submission as the upstream's documents imply: $title",
  ({ given: [provider, status, body, refusal] }) => {
    expect(ADAPTERS.get(provider)?.submits?.refusal(status, body)).toBe(refusal);
  },
);

it("the examples of refused submissions include an answer of each provider to which the relay can send submissions", () => {
  const named = REFUSAL_CASES.map(([provider]) => provider);
  const submitting = [...PROVIDERS.values()].filter(({ submits }) => submits !== undefined);
  expect(new Set(named)).toEqual(new Set(submitting.map(({ name }) => name)));
});

it.each([
  [200, null],
  [302, null],
  [400, "final"],
  [401, "key"],
  [402, "funds"],
  [403, "final"],
  [404, "final"],
  [408, null],
  [409, null],
  [422, "final"],
  [425, null],
  [429, "rate"],
  [499, null],
  [500, null],
  [503, null],
])(
  "when only the HTTP status %i of an answer to a submission is known, the relay classifies the refusal as %s (null: not surely a refusal)",
  (status, refusal) => {
    expect(refusalOfStatus(status)).toBe(refusal);
  },
);

it.each([
  [200, { code: 402 }, "funds"],
  [200, { code: "429" }, "rate"],
  [200, { code: 409 }, null],
  [200, { code: 500 }, null],
  [400, { code: 500 }, "final"],
  [429, undefined, "rate"],
  [502, { code: 401 }, "key"],
])(
  "an answer to a submission with HTTP %i and the body %j, whose code counts as a status, is classified as the refusal %s (null: not surely a refusal)",
  (status, body, refusal) => {
    expect(refusalByCode(status, body)).toBe(refusal);
  },
);

const TEXT = { isGeneric: false, secrets: [] };

function endOf(provider: string, status: number, body: unknown, errorText = TEXT) {
  const submits = ADAPTERS.get(provider)?.submits;
  if (submits === undefined) throw new Error(`${provider} has no submissions`);
  return finalRefusalEnd(submits, status, body, errorText);
}

const minimax = (code: number) => ({
  base_resp: { status_code: code, status_msg: "new_sensitive" },
});

// Sources: the documents that the adapters name beside their codes.
it.each([
  [
    "kling",
    400,
    { code: 1301, message: "Trigger the content security policy of the platform" },
    "moderation",
    false,
  ],
  ["kling", 400, { code: 1201, message: "Invalid request parameters" }, "invalid_input", false],
  ["minimax", 200, minimax(1026), "moderation", false],
  ["minimax", 200, minimax(2013), "invalid_input", false],
  ["dashscope", 400, { code: "DataInspectionFailed", message: "…" }, "moderation", false],
  ["vidu", 400, { code: 400, reason: "TaskPromptPolicyViolation" }, "moderation", false],
  ["vidu", 400, { code: 400, reason: "ImageDownloadFailure" }, "invalid_input", false],
  ["fal", 422, { detail: [{ msg: "flagged by a content checker" }] }, "moderation", false],
  ["replicate", 422, { title: "Input validation failed", detail: "…" }, "invalid_input", false],
  ["newapi", 503, { error: { code: "model_not_found", message: "…" } }, "provider", true],
])(
  "a task that %s refuses for ever with HTTP %i and %j has the category %s, and retryable is %s",
  (provider, status, body, category, retryable) => {
    expect(endOf(provider, status, body)?.failure).toMatchObject({ category, retryable });
  },
);

it("a task that is refused for ever has the upstream's own text, without ids of requests, unless clients get a general text", () => {
  const body = { error: { code: "invalid_value", message: "bad size (request id: 2026112912)" } };
  expect(endOf("newapi", 400, body)).toEqual({
    error: { code: "upstream_error", message: "bad size" },
    failure: { category: "invalid_input", retryable: false, requestIds: ["2026112912"] },
  });
  const { error } = endOf("newapi", 400, body, { ...TEXT, isGeneric: true }) ?? {};
  expect(error?.message).toBe("The upstream reported a failure.");
});

it.each([
  ["ark", undefined],
  ["ark", {}],
  ["vidu", {}],
])(
  "an answer of %s that refuses a call for ever and states no reason (%j) ends a task by its class alone",
  (provider, body) => {
    expect(endOf(provider, 400, body)).toBeNull();
  },
);

import { expect, it } from "vitest";
import { refusalByCode, refusalOfStatus } from "../../src/providers/submit-refusal.ts";
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

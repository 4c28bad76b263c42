import { expect, it } from "vitest";
import { isAboutAccount, type RefusalClass } from "../../src/core/record/refusal.ts";

it.each<[RefusalClass | null, boolean]>([
  ["busy", false],
  ["rate", false],
  ["funds", true],
  ["key", true],
  ["final", false],
  [null, false],
])(
  "whether the refusal %s of a call is about the account at the upstream, and not about the call itself: %s",
  (refusal, expected) => {
    expect(isAboutAccount(refusal)).toBe(expected);
  },
);

import { describe } from "vitest";
import { useClock } from "./clock.ts";
import { testAcceptedHooks, testIgnoredHooks } from "./hook-answers.ts";
import { REPRESENTATIVES } from "./hook-cases.ts";
import { testRefusedHooks, testSignatures } from "./hook-refusals.ts";

useClock();

describe.each(REPRESENTATIVES)("$name", (hookCase) => {
  testAcceptedHooks(hookCase);
  testIgnoredHooks(hookCase);
  testRefusedHooks(hookCase);
  if (hookCase.isChecked) testSignatures(hookCase);
});

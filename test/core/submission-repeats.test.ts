import { it } from "vitest";
import { apply, expectUnchanged } from "./decisions.ts";
import { aChargingSubmission, NOT_SENT } from "./submission-builders.ts";

it("the word that no call is sent changes nothing when it is repeated while the price is still being charged", () => {
  const dropped = apply(aChargingSubmission(), NOT_SENT);
  expectUnchanged(dropped, NOT_SENT);
});

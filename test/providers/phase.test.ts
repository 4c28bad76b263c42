import { expect, it } from "vitest";
import { phaseOf } from "../../src/providers/phase.ts";

it.each([
  [
    "queued",
    "queued submitted pending preparing queueing queuing waiting created starting staged in_queue throttled",
  ],
  ["processing", "running processing in_progress dreaming generating suspended"],
  ["completed", "succeeded succeed success completed ok"],
  ["failed", "failed fail failure error expired cancelled canceled aborted timeout deleted"],
])("means %s, however it is spelled and whatever the case", (phase, states) => {
  for (const state of states.split(" ")) {
    expect([state, phaseOf(state)]).toEqual([state, phase]);
    expect([state, phaseOf(state.toUpperCase())]).toEqual([state, phase]);
  }
});

it.each([["unknown"], ["done"], ["succeeded "], ["success!"], ["constructor"], [""], [null]])(
  "knows no phase of %j",
  (state) => {
    expect(phaseOf(state)).toBeNull();
  },
);

import * as fc from "fast-check";
import { OUTCOMES } from "../../../src/core/record/outcome.ts";
import { FAILURE_CATEGORIES, type TaskRecord } from "../../../src/core/record/task.ts";
import { anEnd, anEndAs } from "../builders.ts";
import { aHook, anUpstreamFailure } from "../upstream-builders.ts";
import { BEGINNING, type Command, commands, next, type World } from "../world.ts";

/** What the random lives leave out: all ways to fail, and receivers that say why. */
const more: fc.Arbitrary<readonly Command[]> = fc.array(
  fc
    .oneof(
      fc.constantFrom(...FAILURE_CATEGORIES).map((category) => {
        const failure = { category, retryable: category === "rate_limited" };
        return aHook(anUpstreamFailure({ failure }), { isSigned: true });
      }),
      fc
        .tuple(fc.integer({ min: 1, max: 4 }), fc.constantFrom(...OUTCOMES))
        .map(([number, outcome]) => anEnd(number, { ...anEndAs(number, outcome), ...ANSWER })),
    )
    .map((event) => ({ kind: "event", event })),
  { maxLength: 60, size: "max" },
);
const ANSWER = { statusCode: 503, responseExcerpt: "Back soon." };
const EVERY = 4;

/** Every record that these random lives have stored, of a relay with an index and an operator to tell. */
export function storedBy(lives: number, seed: number): TaskRecord[] {
  return fc.sample(fc.tuple(commands, more), { numRuns: lives, seed }).flatMap(([usual, rest]) => {
    const stored: TaskRecord[] = [];
    let world = told(BEGINNING);
    usual.forEach((usually, i) => {
      const further = i % EVERY === 0 ? rest[i / EVERY] : undefined;
      for (const command of further === undefined ? [usually] : [usually, further]) {
        world = told(next(world, command));
        if (world.record !== null) stored.push(world.record);
      }
    });
    return stored;
  });
}

function told(world: World): World {
  return { ...world, policy: { ...world.policy, isIndexed: true, isOperatorTold: true } };
}

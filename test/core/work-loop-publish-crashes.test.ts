import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { TaskEvent } from "../../src/core/events/event.ts";
import { rowOf } from "../../src/core/views/index-row.ts";
import { OUTCOMES } from "../../src/core/record/outcome.ts";
import { isSettled, isTerminal, type TaskRecord } from "../../src/core/record/task.ts";
import {
  aCompletion,
  aCreation,
  aFailure,
  aPolicy,
  aRedelivery,
  aRegistration,
  aReport,
  MINUTE,
  NOW,
  PROCESSING,
  SECOND,
} from "./builders.ts";
import { aPricedRegistration } from "./credit-builders.ts";
import { type Action, Life } from "./life.ts";
import { type MemoryPlatform, turns } from "./memory-platform.ts";
import { Saga } from "./saga.ts";
import { aProvidedRegistration, JOB, told } from "./upstream-builders.ts";
import { hooks, pollAnswers } from "./world-upstream.ts";

const SEED = 20_261_121;
const FOLLOWED = aPolicy({ isIndexed: true, isOperatorTold: true });

/** Nothing is left to be done before the record expires. */
function isAtRest(record: TaskRecord): boolean {
  const { publication, version } = record;
  if (!isTerminal(record) || !isSettled(record)) return false;
  return publication.version === version && record.notices.length === 0;
}

function expectInStep({ stored, published }: MemoryPlatform): void {
  if (stored === null) return;
  expect(isAtRest(stored)).toBe(true);
  expect(published.at(-1)).toEqual(rowOf(stored));
}

/** A life whose instances die at these points. */
async function lived(...deaths: number[]): Promise<Saga> {
  const saga = new Saga(...deaths);
  saga.platform.policyAt = () => FOLLOWED;
  await saga.tell(aRegistration());
  if (saga.platform.alarm !== null) await saga.sleep();
  saga.platform.clock = Math.max(saga.platform.clock, NOW + 5 * MINUTE);
  await saga.tell(aReport(aCompletion(), aCreation()));
  await saga.sleepUntil(isAtRest);
  return saga;
}

describe("an instance that dies before or after any commit or call", () => {
  it("leaves to the next one what is not in the index, and it writes that", async () => {
    const { points, platform: whole } = await lived();
    expect(points).toBeGreaterThan(10);
    expect(whole.published.map(({ callback }) => callback)).toEqual(["waiting", "delivered"]);
    for (let death = 1; death <= points; death++) {
      const { platform } = await lived(death);
      expectInStep(platform);
      expect(platform.published.length).toBeLessThanOrEqual(4);
    }
  });
});

const events: TaskEvent[] = [
  aRegistration(),
  aPricedRegistration(),
  aProvidedRegistration({ job: JOB }),
  aReport(PROCESSING),
  aReport(aCompletion(), aCreation()),
  aReport(aFailure(), aCreation({ callbackUrl: null })),
  aReport(aFailure()),
  aRedelivery(),
  aRedelivery({ attempts: 3 }),
  { type: "cancel" },
  { type: "republish" },
];

/** The index and the operator answer, refuse, or let everybody wait. */
type Follower = { readonly kind: "follow"; readonly index: Answer; readonly operator: boolean };
type Answer = "taken" | "refused" | "late";

const happening = fc.oneof(fc.constantFrom(...events), hooks).map((event): Action => ({
  kind: "event",
  event,
}));
const answering = fc
  .record({ outcome: fc.constantFrom(...OUTCOMES), afterMs: fc.constantFrom(0, 1, 10 * SECOND) })
  .map((given): Action => ({ kind: "answer", ...given }));
const asking = fc
  .record({ answer: pollAnswers, afterMs: fc.constantFrom(0, SECOND) })
  .map((given): Action => ({ kind: "poll", ...given }));
const others = fc.constantFrom<Action>(
  { kind: "crash" },
  { kind: "read" },
  { kind: "repair" },
  { kind: "ledger", outage: "deaf" },
  { kind: "ledger", outage: null },
  { kind: "clock", byMs: MINUTE },
  { kind: "clock", byMs: -MINUTE },
  { kind: "break", call: "commit", nth: 2 },
  { kind: "break", call: "load", nth: 2 },
);
const following = fc
  .record({
    index: fc.constantFrom<Answer>("taken", "taken", "refused", "late"),
    operator: fc.boolean(),
  })
  .map((given): Follower => ({ kind: "follow", ...given }));
const ringing = fc.constantFrom<Action>(
  { kind: "ring", lateByMs: 0 },
  { kind: "ring", lateByMs: MINUTE },
);

const actions = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: happening },
    { weight: 3, arbitrary: fc.oneof(answering, asking, ringing, ringing) },
    { weight: 1, arbitrary: fc.oneof<fc.Arbitrary<Action | Follower>[]>(others, following) },
  ),
  { maxLength: 40, size: "max" },
);

/** A life under an index that a test can take down, slow down and bring back. */
class FollowedLife extends Life {
  #release = () => {};

  constructor() {
    super();
    this.platform.policyAt = () => FOLLOWED;
  }

  async meet(action: Action | Follower): Promise<void> {
    if (action.kind === "follow") this.#follow(action);
    else await this.do(action);
    // An answer to an instance that is dead reaches nobody.
    if (action.kind === "crash") this.#release = () => {};
    await turns();
  }

  /** Everything works again: by its alarms alone the task comes to rest. */
  async rest(): Promise<void> {
    this.#follow({ kind: "follow", index: "taken", operator: true });
    await this.meet({ kind: "repair" });
    await this.meet({ kind: "ledger", outage: null });
    await this.meet({ kind: "crash" });
    for (let i = 0; i < 60; i++) {
      const { stored } = this.platform;
      if (stored === null || isAtRest(stored)) return;
      await this.meet({ kind: "ring", lateByMs: 0 });
      await this.platform.answerPoll(told(aCompletion()));
      await this.platform.answer("rejected", SECOND);
    }
  }

  #follow({ index, operator }: Follower): void {
    this.#release();
    this.#release = () => {};
    this.platform.publishing = null;
    this.platform.isIndexDown = index === "refused";
    this.platform.isOperatorDown = !operator;
    if (index !== "late") return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.platform.publishing = promise;
    this.#release = resolve;
  }
}

describe("an index under any sequence of events, answers, alarms, crashes and outages", () => {
  it("shows the task as it is, once everything works again and nothing is due before its end", async () => {
    let written = 0;
    await fc.assert(
      fc.asyncProperty(actions, async (sequence) => {
        const life = new FollowedLife();
        for (const action of sequence) {
          await life.meet(action);
          expect(life.platform.badAlarms).toEqual([]);
        }
        await life.rest();
        expectInStep(life.platform);
        expect(life.platform.badAlarms).toEqual([]);
        written += life.platform.published.length;
      }),
      { numRuns: 400, seed: SEED },
    );
    expect(written).toBeGreaterThan(400);
  });
});

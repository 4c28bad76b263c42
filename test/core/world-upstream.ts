import * as fc from "fast-check";
import type { PollAnswer, TaskEvent } from "../../src/core/events/event.ts";
import type { PollLimits } from "../../src/core/record/tracking.ts";
import type { UpstreamNews } from "../../src/core/record/upstream.ts";
import { aCompletion, CONNECTION, HOUR, LIMITS, PROCESSING, SECOND, URL_A } from "./builders.ts";
import {
  aHook,
  anAttachment,
  anUpstreamFailure,
  JOB,
  limited,
  NO_OUTPUT,
  OTHER_JOB,
  QUEUED,
  told,
  UNANSWERED,
  UNAUTHORIZED,
} from "./upstream-builders.ts";

const news: readonly UpstreamNews[] = [
  QUEUED,
  PROCESSING,
  NO_OUTPUT,
  aCompletion(),
  aCompletion({ urls: [URL_A, "x".repeat(9_000)], metadata: { seed: 1, 7: "x" } }),
  anUpstreamFailure(),
];

const connection = fc.constantFrom(CONNECTION, CONNECTION, CONNECTION, "fal");

/** Everything that a provider's hook can be. */
export const hooks: fc.Arbitrary<TaskEvent> = fc
  .record({
    said: fc.constantFrom(...news),
    connection,
    jobId: fc.constantFrom(null, JOB.id, JOB.id, OTHER_JOB.id),
    isSigned: fc.boolean(),
  })
  .map(({ said, ...from }) => aHook(said, from));

export const attachments: fc.Arbitrary<TaskEvent> = fc
  .tuple(fc.constantFrom(JOB, JOB, JOB, OTHER_JOB, { ...JOB, endpoint: "fal-ai/x" }), connection)
  .map(([job, name]) => anAttachment(job, name));

/** Everything that can come of asking. */
export const pollAnswers = fc.constantFrom<PollAnswer>(
  ...news.map(told),
  limited(),
  limited(HOUR),
  UNAUTHORIZED,
  UNANSWERED,
);

const forgetful: PollLimits = { firstMs: SECOND, gapMs: 0, maxAgeMs: 2 * HOUR };

/** Keys that come and go. */
export const keys = fc.constantFrom<ReadonlyMap<string, PollLimits>>(
  new Map([[CONNECTION, LIMITS]]),
  new Map([[CONNECTION, forgetful]]),
  new Map(),
);

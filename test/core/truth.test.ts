import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { HookEvent, PollAnswer } from "../../src/core/events/event.ts";
import { OUTCOMES } from "../../src/core/record/outcome.ts";
import { isTerminal, type TerminalTask } from "../../src/core/record/task.ts";
import type { UpstreamNews } from "../../src/core/record/upstream.ts";
import { aCompletion, HOUR, MINUTE, NOW, PROCESSING, SECOND, URL_A, VIDEO } from "./builders.ts";
import { type Action, Life } from "./life.ts";
import type { Call } from "./memory-calls.ts";
import { turns } from "./memory-platform.ts";
import {
  aHook,
  anAttachment,
  anUpstreamFailure,
  aProvidedRegistration,
  JOB,
  limited,
  NO_OUTPUT,
  OTHER_JOB,
  QUEUED,
  told,
  UNANSWERED,
  UNAUTHORIZED,
} from "./upstream-builders.ts";

const SEED = 20_261_020;
/** For a machine that does other things too. */
const TIMEOUT = 60_000;

/** How a job ends, and what of that the client must read. */
const truths = fc.constantFrom<{ readonly news: UpstreamNews; readonly result: object }>(
  { news: aCompletion(), result: { status: "completed", output: { urls: [VIDEO], metadata: {} } } },
  {
    news: anUpstreamFailure(),
    result: { status: "failed", error: anUpstreamFailure().error },
  },
  { news: NO_OUTPUT, result: { status: "failed", error: { code: "upstream_error" } } },
);

/** One upstream and the work that it does: until it is done it is at work, and now and then it is not well. */
class Job {
  readonly #doneAt: number;
  readonly #faults: PollAnswer[];
  readonly #news: UpstreamNews;

  constructor(news: UpstreamNews, workMs: number, faults: readonly PollAnswer[]) {
    this.#news = news;
    this.#doneAt = NOW + workMs;
    this.#faults = [...faults];
  }

  answer(now: number): PollAnswer {
    return this.#faults.shift() ?? told(now < this.#doneAt ? PROCESSING : this.#news);
  }

  /** Whoever has the provider's key says nothing but the truth, also where it comes as a hook. */
  signed(now: number): HookEvent {
    return aHook(now < this.#doneAt ? PROCESSING : this.#news, { isSigned: true });
  }
}

type Move =
  | Action
  | { readonly kind: "attach" }
  | { readonly kind: "ask" }
  | { readonly kind: "signed_hook" };

const lies = fc
  .record({
    news: fc.constantFrom<UpstreamNews>(
      QUEUED,
      PROCESSING,
      NO_OUTPUT,
      aCompletion({ urls: [URL_A] }),
      anUpstreamFailure({ error: { code: "lie", message: "a lie" } }),
    ),
    jobId: fc.constantFrom(null, JOB.id, OTHER_JOB.id),
  })
  .map(({ news, jobId }): Move => ({ kind: "event", event: aHook(news, { jobId }) }));
const asks = fc.constant<Move>({ kind: "ask" });
const rings = fc
  .constantFrom(0, -5, 1, MINUTE, HOUR)
  .map((lateByMs): Move => ({ kind: "ring", lateByMs }));
const answers = fc
  .record({ outcome: fc.constantFrom(...OUTCOMES), afterMs: fc.constantFrom(0, 10_000) })
  .map((given): Move => ({ kind: "answer", ...given }));
const mishaps = fc.oneof(
  fc.constantFrom<Move>({ kind: "crash" }, { kind: "repair" }, { kind: "read" }),
  fc.constantFrom(1, SECOND, MINUTE, -1).map((byMs): Move => ({ kind: "clock", byMs })),
  fc
    .record({ call: fc.constantFrom<Call>("load", "commit", "poll"), nth: fc.nat(3) })
    .map((given): Move => ({ kind: "break", ...given })),
);
const moves = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.oneof(rings, asks) },
    { weight: 3, arbitrary: lies },
    { weight: 2, arbitrary: fc.oneof(mishaps, answers) },
    { weight: 1, arbitrary: fc.constantFrom<Move>({ kind: "attach" }, { kind: "signed_hook" }) },
  ),
  { maxLength: 40, size: "max" },
);

const jobs = fc.record({
  truth: truths,
  workMs: fc.constantFrom(0, 20 * SECOND, 5 * MINUTE, HOUR),
  faults: fc.array(
    fc.constantFrom<PollAnswer>(
      UNANSWERED,
      UNAUTHORIZED,
      limited(),
      limited(MINUTE),
      limited(HOUR),
      told(QUEUED),
      told(PROCESSING),
    ),
    { maxLength: 8 },
  ),
});

function actionOf(move: Move, job: Job, life: Life): Action {
  const { clock, stored } = life.platform;
  if (move.kind === "attach") return { kind: "event", event: anAttachment() };
  if (move.kind === "ask") return { kind: "poll", answer: job.answer(clock), afterMs: 0 };
  if (move.kind === "signed_hook") return { kind: "event", event: job.signed(clock) };
  // Before its job is attached the task has nothing to wake for but its deadline.
  if (move.kind === "ring" && stored?.upstream?.job === null) return { kind: "read" };
  return move;
}

async function act(life: Life, action: Action): Promise<void> {
  const { length } = life.platform.polls;
  const { stored } = life.platform;
  await life.do(action);
  await turns();
  const begun = life.platform.polls.length - length;
  expect(begun).toBeLessThanOrEqual(stored !== null && isTerminal(stored) ? 0 : 1);
}

function endsOf({ platform }: Life): readonly TerminalTask[] {
  return platform.history.filter(isTerminal);
}

describe("a task whose upstream can be asked, whatever hooks say, and whatever is lost", () => {
  it(
    "ends with what its upstream says of its job, and calls back with it in one series",
    async () => {
      await fc.assert(
        fc.asyncProperty(jobs, moves, async ({ truth, workMs, faults }, sequence) => {
          const life = new Life();
          const { platform } = life;
          const job = new Job(truth.news, workMs, faults);
          await act(life, { kind: "event", event: aProvidedRegistration() });
          for (const move of sequence) await act(life, actionOf(move, job, life));
          // Whoever attaches gets an answer in the end.
          await act(life, { kind: "repair" });
          await act(life, { kind: "event", event: anAttachment() });
          await life.drain(() => job.answer(platform.clock));

          const [first, ...others] = endsOf(life);
          expect(JSON.parse(first?.body ?? "null")).toMatchObject(truth.result);
          for (const { body } of others) expect(body).toBe(first?.body);
          for (const { delivery } of platform.sent) expect(delivery.body).toBe(first?.body);
          expect(
            Math.max(...endsOf(life).map(({ callback }) => callback?.series.number ?? 0)),
          ).toBe(1);
          expect(platform.numbers).toEqual([1, 2, 3].slice(0, platform.numbers.length));
          expect(platform.badAlarms).toEqual([]);
        }),
        { numRuns: 400, seed: SEED },
      );
    },
    TIMEOUT,
  );
});

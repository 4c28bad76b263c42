import { availableParallelism } from "node:os";
import { expect, it } from "vitest";
import { planPolls } from "../../src/core/polls/next-poll.ts";
import type { OpenTask, TaskRecord } from "../../src/core/record/task.ts";
import type { Job } from "../../src/core/record/upstream.ts";
import { anOpenTask, CONNECTION, LIMITS, NOW } from "../core/builders.ts";
import records from "../kept-release/records.json" with { type: "json" };
import { shapeOf } from "../kept-release/shape.ts";
import { aHook } from "../core/upstream-builders.ts";
import { lastPollAfter, newPoll } from "./poll-rules.ts";
import { keptText, parseKeptLives, readKeptLives } from "./kept-lives.ts";
import type { Move } from "./moves.ts";
import { OVERSIZED } from "./oversized.ts";
import { replay, runSeed } from "./run.ts";
import { simulate } from "./simulate.ts";

const LIVES = Number(process.env["SIM_LIVES"] ?? 3_000);
/** Seed of the first simulated task, fixed so that every machine runs the same ones. */
const SEED = Number(process.env["SIM_SEED"] ?? 20_261_121);

/** Events that must occur; without them the simulation would prove little. */
const EXPECTED_EVENTS = [
  "an instance dies",
  "a commit is lost",
  "a late call of a dead instance arrives",
  "charge is done without an answer",
  "refund is done without an answer",
  "release is done without an answer",
  "a release is ordered",
  "a release is booked",
  "writeIndexRow is done without an answer",
  "sendNotice is done without an answer",
  "attempt 1 is interrupted",
  "attempt 2 is interrupted",
  "attempt 3 is interrupted",
  "the end of a slow attempt is reported",
  "the end of an attempt is reported again",
  "an end is reported too late",
  "an end is reported to a later task with the same id",
  "a sender dies",
  "a series goes on after a crash",
  "a series is interrupted again",
  "an attempt rests",
  "a started attempt rests",
  "a resting attempt goes on",
  "a series fails",
  "a schedule of a task is used up",
  "a callback is redelivered",
  "an endpoint gets a callback",
  "a task ends without telling its endpoint",
  "a start is told",
  "a percentage is told",
  "progress arrives after the end",
  "a deadline is extended",
  "a hook is kept",
  "a task ends by report",
  "a task ends by hook",
  "a task ends by poll",
  "a task ends by read of a job",
  "a client reads the job during a poll",
  "a task ends by cancel",
  "a task ends by cancellation",
  "a job is canceled at the deadline",
  "a call that cancels a job is repeated",
  "a cancellation becomes accepted",
  "a cancellation becomes ended",
  "a cancellation becomes refused",
  "a cancellation becomes unknown",
  "a cancellation becomes confirmed",
  "a cancellation becomes not_sent",
  "a result counts in spite of an order to cancel",
  "a task ends by its deadline",
  "a result is too large",
  "a task ends by submit_ended",
  "a task ends by a submission with an unknown outcome",
  "a submission is refused or not sent, and its price returned",
  "a submission that was sending is accepted by its answer",
  "a submission that was sending is accepted without its answer",
  "a submission that was unknown is accepted by its answer",
  "a submission that was unknown is accepted without its answer",
  "a submission becomes unknown",
  "a submission of unknown outcome fails its task at once",
  "a submission becomes unsent",
  "a call becomes sending",
  "a call becomes unsent",
  "a call becomes unsent, and its task ends",
  "a call becomes unknown",
  "a call becomes unknown, and its task ends",
  "a task ends by a call that has waited for too long",
  "a submission that was queued is accepted without its answer",
  "the object of a call is told: send",
  "the object of a call is told: wait",
  "the object of a call is told: gone",
  "the object of a call dies before its start and its call",
  "the object of a call dies between its start and its call",
  "the object of a call dies after its start and its call",
  "files of a call are taken",
  "files of a call are deleted",
  "an outcome is brought again",
  "an outcome comes to a later task with the same id",
  "a Worker that submits dies",
  "a customer's key is used: result",
  "a customer's key is used: late_result",
  "a customer's key is dropped",
  "a customer's key becomes unreadable",
  "a customer's key becomes readable",
  "copies are ordered",
  "copies are ordered again",
  "copies of deleted outputs are deleted",
  "a copy is kept",
  "a copy is lost",
  "the row of a task with a lost output is written",
  "an output is deleted",
  "a task expires",
  "an id is used again",
  "a charge is above the monthly limit",
];
const OFTEN = LIVES / 500;

/** Number of simulated relays with queues, each of which takes about ten times as long as a task. */
const QUEUE_LIVES = Math.ceil(LIVES / 10);
/** The same for relays with queues. */
const EXPECTED_IN_QUEUES = [
  "an instance dies",
  "a place is granted",
  "a place becomes free",
  "all places of a connection are used",
  "the places of a connection are changed",
  "a connection is removed",
  "the clock is put back",
  "a call is accepted",
  "a call is unknown",
  "a call is refused: busy",
  "a call is refused: rate",
  "a call is refused: funds",
  "a call is refused: key",
  "a call is refused: final",
  "a further attempt is sent",
  "a cool-down: busy",
  "a cool-down: rate",
  "a cool-down: out",
  "a client is answered: accepted",
  "a client is answered: replayed",
  "a client is answered: connection_busy",
  "a client is answered: queue_full",
  "a client is answered: insufficient_credits",
  "a client orders to cancel",
  "a client orders to erase",
  "a price is charged for a task that has ended: completed",
  "a price is charged for a task that has ended: failed",
  "a price is charged for a task that has ended: null",
];
/** Number of simulated tasks of which every record is compared with the kept ones. */
const COMPARED = Math.ceil(LIVES / 50);

it(`the promises of docs/promises.md hold in ${LIVES} random simulations of a task with failures, crashes, and repeated and late events`, async () => {
  console.log(`seed ${SEED}`);
  const threads = availableParallelism();
  const task = { kind: "task", seed: SEED, lives: LIVES, threads } as const;
  const { lives, observed, broken } = await simulate(task);
  expect(broken?.report ?? "").toBe("");
  expect(lives).toBe(LIVES);
  for (const what of EXPECTED_EVENTS)
    expect(observed[what] ?? 0, what).toBeGreaterThanOrEqual(OFTEN);
});

it(`no place of a connection is lost or given twice, and no call sent twice, in ${QUEUE_LIVES} random simulations of a relay with queues, with failures, crashes, and lost, late and repeated calls`, async () => {
  const threads = availableParallelism();
  const queues = { kind: "queues", seed: SEED, lives: QUEUE_LIVES, threads } as const;
  const { lives, observed, broken } = await simulate(queues);
  expect(broken?.report ?? "").toBe("");
  expect(lives).toBe(QUEUE_LIVES);
  for (const what of EXPECTED_IN_QUEUES)
    expect(observed[what] ?? 0, what).toBeGreaterThanOrEqual(QUEUE_LIVES / 500);
});

it.each(readKeptLives().map((life, index) => ({ ...life, number: index + 1 })))(
  "simulated task $number of kept-lives.json, whose events once broke the promise '$promise', breaks no promise when it is simulated again",
  async ({ beginning, moves }) => {
    const { violation } = await replay(beginning, moves);
    expect(violation).toBeNull();
  },
);

it("kept-lives.json, the file of simulated tasks that once broke a promise, omits the bytes of oversized results, and reading the file puts them back", async () => {
  const { beginning } = await runSeed(SEED);
  const moves = OVERSIZED.map((news): Move => ({ kind: "event", event: aHook(news) }));
  const text = keptText({ promise: "a", detail: "b (1 ms)" }, beginning, moves);
  expect(text.length).toBeLessThan(2_000);
  expect(parseKeptLives(`[${text}]`)).toEqual([{ promise: "a: b", beginning, moves }]);
});

/** Returns the stored record and the time of the alarm at the end of a life. */
function durableOf({ world }: Awaited<ReturnType<typeof runSeed>>) {
  const { record, alarm } = world.disk.durable;
  return { record, alarmAt: alarm?.at };
}

const JOB = { id: "cgt-1", endpoint: null };
const OTHER = { id: "cgt-2", endpoint: null };

/** Builds an open task whose job was attached at `NOW`. */
function aTaskWith(job: Job, connection = CONNECTION): OpenTask {
  const task = anOpenTask({ upstream: { connection, job } });
  const poll = planPolls(false, LIMITS, NOW);
  return { ...task, tracking: { ...task.tracking, poll } };
}

it.each([
  ["another job was attached in the same millisecond", "no longer", aTaskWith(OTHER), false],
  ["the job was attached through another connection", "no longer", aTaskWith(JOB, "ark-2"), false],
  ["its answer was stored", "still", { ...aTaskWith(JOB), status: "processing" } as const, true],
])(
  "when, after a poll was sent, %s, the simulation of tasks %s counts this poll as one of the attached job",
  (_event, _whether, after, isOfAttachedJob) => {
    const poll = newPoll(JOB, NOW);
    expect(lastPollAfter(poll, aTaskWith(JOB), after)).toEqual({ ...poll, isOfAttachedJob });
  },
);

it("two runs of the simulation with the same seed have exactly the same events and the same record and alarm at the end", async () => {
  for (let seed = SEED; seed < SEED + 20; seed++) {
    const [first, again] = [await runSeed(seed), await runSeed(seed)];
    expect(again.moves).toEqual(first.moves);
    expect(durableOf(again)).toEqual(durableOf(first));
  }
});

it(`every record of ${COMPARED} simulated tasks has only fields and types of values that occur in a record of the previous release`, async () => {
  const kept = new Set(Object.values(records).flatMap(shapeOf));
  const unkept = new Map<string, TaskRecord>();
  for (let seed = SEED; seed < SEED + COMPARED; seed++) {
    for (const record of (await runSeed(seed)).world.checker.records) {
      for (const fact of shapeOf(record)) if (!kept.has(fact)) unkept.set(fact, record);
    }
  }
  // A new shape joins by `npm run release:keep`; docs/releasing.md ("Stored shapes") says which one may be new.
  expect(Object.fromEntries(unkept)).toEqual({});
});

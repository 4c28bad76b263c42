import { isOpen } from "../../src/core/record/task.ts";
import { HOUR, MINUTE } from "../core/builders.ts";
import { PRICE } from "../core/credit-builders.ts";
import { nextMove, pauseMove, registration } from "./generator.ts";
import type { Move } from "./moves.ts";
import { Random } from "./random.ts";
import { directedMoves } from "./scenarios.ts";
import { type InitialState, settingFrom } from "./setting.ts";
import { endsFault } from "./settled-rules.ts";
import type { Violation } from "./task-history.ts";
import { World } from "./world.ts";

/** Result of one run. The same initial state and moves repeat the run exactly. */
export interface RunResult {
  readonly beginning: InitialState;
  readonly moves: readonly Move[];
  readonly violation: Violation | null;
  readonly world: World;
}

/** Part of the lives that begin with a scenario, and part of the moves of a scenario before which a random one comes. */
const DIRECTED = 0.5;
const NOISE = 0.03;
/** Largest number of random moves after a scenario. */
const MOVES_AFTER = 6;
const MIN_MOVES = 6;
const MORE_MOVES = 26;
const MAX_DRAIN = 400;
/** Part of the lives in which hosts are paused, and part of the moves of such a life before which a pause begins or ends. */
const PAUSING = 0.15;
const PAUSE = 0.3;
/** Longest rest of a pause, in milliseconds, whose end a run awaits. A longer pause is ended by the operator. */
const MAX_AWAITED_MS = HOUR;

/** Runs one simulated task; the seed alone decides what happens. */
export async function runSeed(seed: number): Promise<RunResult> {
  const random = new Random(seed);
  const beginning: InitialState = {
    setting: settingFrom(random),
    granted: random.pick([1_000, 1_000, 1_000, 2 * PRICE, PRICE - 1]),
    hasAccount: random.isLucky(0.95),
    isRoundTripped: random.isLucky(1 / 100),
    isReceiverDown: random.isLucky(0.5),
    isUpstreamStuck: random.isLucky(0.3),
    isOperatorDown: random.isLucky(0.1),
    monthlyLimit: random.pick([null, null, null, null, PRICE - 1, PRICE, 2 * PRICE]),
  };
  const world = new World(beginning, false);
  const moves: Move[] = [];
  for (const move of withPauses(movesOf(random, world), new Random(~seed))) {
    moves.push(move);
    await world.do(move);
    if (world.checker.violation !== null) break;
  }
  return ended(world, beginning, moves);
}

/** Returns the moves of a life; each is chosen when those before it have had their effect. */
function* movesOf(random: Random, world: World): Iterable<Move> {
  const isDirected = random.isLucky(DIRECTED);
  for (const move of isDirected ? directedMoves(world, random) : []) {
    if (random.isLucky(NOISE)) yield nextMove(random, world);
    yield move;
  }
  const isRegistered = !isDirected && random.isLucky(0.6);
  if (isRegistered) yield { kind: "event", event: registration(random) };
  const others = isDirected
    ? random.below(MOVES_AFTER)
    : MIN_MOVES + random.below(MORE_MOVES) - (isRegistered ? 1 : 0);
  for (let i = 0; i < others; i++) yield nextMove(random, world);
}

/**
 * Returns the moves of a life, between which hosts are paused in some lives. The random numbers are others than those of
 * the moves, so that all other lives are as they were without pauses.
 */
function* withPauses(moves: Iterable<Move>, random: Random): Iterable<Move> {
  const isPausing = random.isLucky(PAUSING);
  for (const move of moves) {
    if (isPausing && random.isLucky(PAUSE)) yield pauseMove(random);
    yield move;
  }
  if (isPausing) yield pauseMove(random);
}

/** Repeats the moves of a run, or some of them. */
export async function replay(
  beginning: InitialState,
  moves: readonly Move[],
  isTraced = false,
): Promise<RunResult> {
  const world = new World(beginning, isTraced);
  for (const move of moves) {
    await world.do(move);
    if (world.checker.violation !== null) break;
  }
  return ended(world, beginning, moves);
}

async function ended(
  world: World,
  beginning: InitialState,
  moves: readonly Move[],
): Promise<RunResult> {
  if (world.checker.violation === null) await runToEnd(world, beginning);
  return { beginning, moves, violation: world.checker.violation, world };
}

/** Lets the operator end the pauses whose end a run does not await. */
async function endLongPauses(world: World): Promise<void> {
  for (const [host, until] of world.pauses) {
    if (until - world.clock > MAX_AWAITED_MS) await world.do({ kind: "resume", host });
  }
}

/** Repairs all parties and lets the task come to its end by its alarms alone. */
async function runToEnd(world: World, beginning: InitialState): Promise<void> {
  const { setting, checker } = world;
  const { isReceiverDown, isUpstreamStuck, isOperatorDown } = beginning;
  checker.note(() => "everything works again");
  await world.do({ kind: "read" });
  await world.do({ kind: "misconfigure", isBroken: false });
  await world.do({ kind: "fault", reads: 0 });
  await world.do({ kind: "deploy", setting: { ...setting, isPaused: false } });
  await endLongPauses(world);
  const atEnd = {
    send: isReceiverDown ? 1 : 0,
    sendProgress: isReceiverDown ? 1 : 0,
    poll: 0,
    cancelJob: 0,
    charge: 0,
    refund: 0,
    release: 0,
    writeIndexRow: 0,
    sendNotice: isOperatorDown ? 2 : 0,
    orderCopies: 0,
    leaveQueues: 0,
  };
  for (let i = 0; i < MAX_DRAIN && checker.violation === null; i++) {
    if (world.disk.durable.record === null) break;
    const [flight] = world.outside.openCalls;
    if (flight === undefined) {
      await world.do({ kind: "ring", lateMs: 0, isSlow: false });
    } else {
      const isStuck = isUpstreamStuck && flight.what === "poll" && isNearDeadline(world);
      await world.do({ kind: "end", pick: 0, ending: isStuck ? 1 : atEnd[flight.what] });
    }
  }
  if (checker.violation === null) checker.check("in the end", endsFault(world));
}

/** Tells whether the deadline is so near that probably no other poll comes before it. */
function isNearDeadline({ disk, clock }: World): boolean {
  const { record } = disk.durable;
  return record !== null && isOpen(record) && record.deadlineAt - clock < 6 * MINUTE;
}

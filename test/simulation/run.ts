import { isOpen } from "../../src/core/record/task.ts";
import { MINUTE } from "../core/builders.ts";
import { PRICE } from "../core/credit-builders.ts";
import { nextMove, registration } from "./generator.ts";
import type { Move } from "./moves.ts";
import { Random } from "./random.ts";
import { type Beginning, settingFrom } from "./setting.ts";
import { endsFault } from "./settled-rules.ts";
import type { Violation } from "./task-history.ts";
import { World } from "./world.ts";

/** One life as it was lived: the same beginning and moves live it again. */
export interface RunResult {
  readonly beginning: Beginning;
  readonly moves: readonly Move[];
  readonly violation: Violation | null;
  readonly world: World;
}

const MIN_MOVES = 6;
const MORE_MOVES = 26;
const MAX_DRAIN = 400;

/** A life that its seed alone decides. */
export async function runSeed(seed: number): Promise<RunResult> {
  const random = new Random(seed);
  const beginning: Beginning = {
    setting: settingFrom(random),
    granted: random.pick([1_000, 1_000, 1_000, 2 * PRICE, PRICE - 1]),
    hasAccount: random.isLucky(0.95),
    isRoundTripped: random.isLucky(1 / 100),
    isReceiverDown: random.isLucky(0.5),
    isUpstreamStuck: random.isLucky(0.3),
    isOperatorDeaf: random.isLucky(0.1),
  };
  const world = new World(beginning, false);
  const moves: Move[] = [];
  const length = MIN_MOVES + random.below(MORE_MOVES);
  for (let i = 0; i < length && world.checker.violation === null; i++) {
    const move: Move =
      i === 0 && random.isLucky(0.6)
        ? { kind: "event", event: registration(random) }
        : nextMove(random, world);
    moves.push(move);
    await world.do(move);
  }
  return ended(world, beginning, moves);
}

/** The same moves once more, or what is left of them. */
export async function replay(
  beginning: Beginning,
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
  beginning: Beginning,
  moves: readonly Move[],
): Promise<RunResult> {
  if (world.checker.violation === null) await runToEnd(world, beginning);
  return { beginning, moves, violation: world.checker.violation, world };
}

/** Everything works again, and nobody calls: by its alarms alone the task comes to its end. */
async function runToEnd(world: World, beginning: Beginning): Promise<void> {
  const { setting, checker } = world;
  const { isReceiverDown, isUpstreamStuck, isOperatorDeaf } = beginning;
  checker.note(() => "everything works again");
  await world.do({ kind: "read" });
  await world.do({ kind: "misconfigure", isBroken: false });
  await world.do({ kind: "fault", reads: 0 });
  await world.do({ kind: "deploy", setting: { ...setting, isPaused: false } });
  const atEnd = {
    send: isReceiverDown ? 1 : 0,
    poll: 0,
    charge: 0,
    refund: 0,
    publish: 0,
    notify: isOperatorDeaf ? 2 : 0,
  };
  for (let i = 0; i < MAX_DRAIN && checker.violation === null; i++) {
    if (world.disk.durable.record === null) break;
    const [flight] = world.outside.flights;
    if (flight === undefined) {
      await world.do({ kind: "ring", lateMs: 0, isSlow: false });
    } else {
      const isStuck = isUpstreamStuck && flight.what === "poll" && isNearDeadline(world);
      await world.do({ kind: "end", pick: 0, ending: isStuck ? 1 : atEnd[flight.what] });
    }
  }
  if (checker.violation === null) checker.judge("in the end", endsFault(world));
}

/** So near that the upstream will hardly be asked again before it. */
function isNearDeadline({ disk, clock }: World): boolean {
  const { record } = disk.durable;
  return record !== null && isOpen(record) && record.deadlineAt - clock < 6 * MINUTE;
}

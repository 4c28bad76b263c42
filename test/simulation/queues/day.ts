import { DAY, HOUR, MINUTE, SECOND } from "../../core/builders.ts";
import { type Day, JOBS, PLACES, PRICE } from "../day-schedule.ts";
import { Random } from "../random.ts";
import { endRules, QuietRules } from "./end-rules.ts";
import { within } from "./run.ts";
import { GOOD } from "./upstream.ts";
import { World } from "./world.ts";

const CONNECTION = "a";
const ACCOUNTS = ["x", "y"] as const;
const BALANCE = PRICE * JOBS;
/** Time within which all submissions arrive, in milliseconds. */
const ARRIVAL_MS = SECOND;
/** Time between two looks whether all tasks have ended, in milliseconds. */
const LOOK_EVERY_MS = 5 * MINUTE;
const NO_FAULTS = { loss: 0, delay: 0, repeat: 0, death: 0, lateAlarm: 0 };
/** By default nobody waits for more than an hour, and the jobs of the day need seven. */
const TIMES = {
  queueMs: DAY,
  submitUnknownMs: HOUR,
  taskDeadlineMs: 3 * DAY,
  isCancelable: false,
  // That of Kling.
  pollGapMs: SECOND,
};

/**
 * Shortest and longest times of jobs, in milliseconds. They are an assumption, because Kling publishes none: what a guide
 * of others states for its standard and its professional mode (https://mcp.directory/skills/klingai-job-monitoring, read
 * in November 2026). Every other job is of each.
 */
const MODES = [
  [30 * SECOND, 120 * SECOND],
  [60 * SECOND, 300 * SECOND],
] as const;

function lengthMs(random: Random): number {
  const [shortest, longest] = random.pick(MODES);
  return shortest + random.below(longest - shortest);
}

/** Lets a thousand jobs of two accounts be submitted at once to a connection with five places, on which nothing fails. */
export async function runDay(seed: number): Promise<Day> {
  const random = new Random(seed);
  const places = new Map([[CONNECTION, PLACES]]);
  const setting = {
    places,
    pool: null,
    submitsFailedAgain: false,
    disabled: null,
    queueLimit: JOBS,
  };
  const balances = new Map(ACCOUNTS.map((account) => [account, BALANCE]));
  const world = new World(
    seed,
    random,
    NO_FAULTS,
    setting,
    TIMES,
    balances,
    new Random(seed + 1),
    null,
  );
  world.upstream.behaviours.set(CONNECTION, { ...GOOD, cap: PLACES, lengthMs });
  await within(world, () => live(world));
  const { upstream, ledger, violation, sent, ended } = world;
  const left = ACCOUNTS.reduce((sum, account) => sum + ledger.balanceOf(account), 0);
  return {
    violation,
    answers: Object.fromEntries(world.answers),
    refused: sent.filter(({ outcome }) => outcome !== "accepted").length,
    jobs: upstream.jobs.map(({ startedAt, lengthMs: ms }) => ({ startedAt, lengthMs: ms })),
    completed: [...ended.values()].filter((status) => status === "completed").length,
    paid: BALANCE * ACCOUNTS.length - left,
  };
}

async function live(world: World): Promise<void> {
  const { machine, random } = world;
  for (let number = 1; number <= JOBS; number++) {
    const account = random.pick(ACCOUNTS);
    const how = { price: PRICE, isAsync: true, isHookless: false, startByMs: null };
    const request = { taskId: `t${number}`, via: CONNECTION, account, ...how };
    machine.clock.after(random.below(ARRIVAL_MS), () => world.request(request));
  }
  const rules = new QuietRules(world);
  let lookAt = MINUTE;
  await machine.run(() => {
    const { passed } = machine.clock;
    if (world.violation !== null || passed > DAY) return true;
    if (passed < lookAt) return false;
    lookAt = passed + LOOK_EVERY_MS;
    return rules.look();
  });
  if (world.violation === null) endRules(world);
}

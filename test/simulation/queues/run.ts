import { HOUR, MINUTE, SECOND } from "../../core/builders.ts";
import { Random } from "../random.ts";
import type { Request } from "./caller.ts";
import { endRules, QuietRules } from "./end-rules.ts";
import type { Faults, Machine } from "./machine.ts";
import { POOL, raised, reduced, resized, settingFrom, timesFrom } from "./setting.ts";
import { type Behaviour, GOOD } from "./upstream.ts";
import { type Violation, World } from "./world.ts";

export interface RunResult {
  readonly violation: Violation | null;
  readonly observed: ReadonlySet<string>;
  readonly world: World;
}

const ACCOUNTS = [null, "x", "y", "z"] as const;
const PRICE = 10;
/** Time in which a world must come to rest when nothing fails any more. */
const REST_MS = 14 * HOUR;
/** What a simulated world replaces in this process. */
const OWN = {
  now: Date.now,
  setTimeout,
  clearTimeout,
  getRandomValues: crypto.getRandomValues.bind(crypto),
  scheduler: Reflect.get(globalThis, "scheduler"),
};

/** Runs one simulated relay with queues; the seed alone decides what happens. */
export async function runSeed(
  seed: number,
  trace: ((text: string) => void) | null = null,
): Promise<RunResult> {
  const random = new Random(seed);
  const setting = settingFrom(random);
  const balances = new Map(
    ACCOUNTS.flatMap((id) => (id === null ? [] : [[id, balanceFrom(random)]])),
  );
  const world = new World(
    seed,
    random,
    faultsFrom(random),
    setting,
    timesFrom(random),
    balances,
    trace,
  );
  await within(world, () => live(world));
  return { violation: world.violation, observed: world.observed, world };
}

/** Lets a world live, whose time, random ids and log are those of this process meanwhile. */
export async function within(world: World, life: () => Promise<void>): Promise<void> {
  const { log, warn, error } = console;
  const write = (text: unknown) => world.machine.note(() => `  log ${String(text)}`);
  Object.assign(console, { log: write, warn: write, error: write });
  replaceTime(world.machine);
  try {
    await life();
  } finally {
    Object.assign(console, { log, warn, error });
    Date.now = OWN.now;
    crypto.getRandomValues = OWN.getRandomValues;
    const { setTimeout: set, clearTimeout: clear, scheduler } = OWN;
    Object.assign(globalThis, { setTimeout: set, clearTimeout: clear, scheduler });
  }
}

function balanceFrom(random: Random): number {
  return random.pick([1_000, 1_000, 1_000, 2 * PRICE, PRICE - 1]);
}

/** Lets the clock, the timers and the random ids of the world be those of this process. */
function replaceTime({ clock, random }: Machine): void {
  const canceled = new Set<number>();
  let timers = 0;
  Date.now = () => clock.now;
  const set = (run: () => void, ms: number) => {
    const timer = ++timers;
    clock.after(ms, () => {
      if (!canceled.delete(timer)) run();
    });
    return timer;
  };
  const wait = (ms: number) => new Promise<void>((resolve) => clock.after(ms, resolve));
  Object.assign(globalThis, {
    setTimeout: set,
    clearTimeout: (timer: number) => canceled.add(timer),
    scheduler: { wait },
  });
  Object.assign(crypto, {
    getRandomValues: (bytes: Uint8Array) => bytes.map(() => random.below(256)),
  });
}

async function live(world: World): Promise<void> {
  const { machine, random } = world;
  const chaosMs = random.pick([MINUTE, 10 * MINUTE, 40 * MINUTE, 90 * MINUTE]);
  for (const name of world.deployment.setting.places.keys()) {
    world.upstream.behaviours.set(
      name,
      behaviourFrom(random, world.deployment.setting.places.get(name) ?? 3),
    );
  }
  planRequests(world, chaosMs);
  planMoves(world, chaosMs);
  machine.clock.after(chaosMs, () => calm(world));
  const isBroken = () => world.violation !== null;
  await machine.run(() => isBroken() || machine.clock.nextAt > chaosMs);
  const rules = new QuietRules(world);
  const endAt = chaosMs + REST_MS;
  let lookAt = chaosMs;
  await machine.run(() => {
    const { passed, nextAt } = machine.clock;
    if (isBroken() || nextAt > endAt) return true;
    if (passed < lookAt) return false;
    lookAt = passed + 20 * SECOND;
    return rules.look();
  });
  if (world.violation === null) endRules(world);
}

/** Ends all faults: what is left comes to rest by itself. */
function calm(world: World): void {
  world.machine.note(() => "everything works again");
  world.machine.calm();
  for (const [name, behaviour] of world.upstream.behaviours) {
    const { cap, hook, longestMs } = behaviour;
    world.upstream.behaviours.set(name, { ...GOOD, cap, hook, longestMs });
  }
  if (world.random.isLucky(0.2)) world.deploy(raised(world.deployment.setting));
}

function faultsFrom(random: Random): Faults {
  const scale = random.pick([0, 0.02, 0.1, 0.2, 0.3]);
  const rate = () => scale * random.next() * random.pick([0, 1, 1]);
  return { loss: rate(), delay: rate(), repeat: rate(), death: rate() / 2, lateAlarm: rate() };
}

function behaviourFrom(random: Random, places: number): Behaviour {
  const scale = random.pick([0, 0.1, 0.3, 0.6]);
  const rate = () => scale * random.next() * random.pick([0, 0, 1]);
  const refusals = { busy: rate(), rate: rate(), funds: rate(), key: rate(), final: rate() };
  return {
    cap: random.pick([places, places, places, Math.max(places - 1, 1), 100]),
    refusals,
    unclear: rate(),
    late: rate(),
    hook: random.pick([1, 1, 0.5, 0]),
    failure: random.pick([0, 0.3]),
    longestMs: random.pick([10 * SECOND, 5 * MINUTE, 30 * MINUTE]),
  };
}

function planRequests(world: World, chaosMs: number): void {
  const { machine, random, deployment } = world;
  const names = [
    ...deployment.setting.places.keys(),
    ...(deployment.setting.pool ? [POOL, POOL] : []),
  ];
  const accounts = ACCOUNTS.slice(0, 1 + random.below(ACCOUNTS.length));
  const count = 2 + random.below(random.pick([4, 19]));
  const isBurst = random.isLucky(0.5);
  const asyncShare = random.pick([1, 0.8, 0.3, 0]);
  for (let number = 1; number <= count; number++) {
    const account = random.pick(accounts);
    const isStartBy = random.isLucky(0.1);
    const atMs = random.below(isBurst ? SECOND : chaosMs);
    const request: Request = {
      taskId: `t${number}-${world.seed}`,
      via: random.pick(names),
      account,
      price: account !== null && random.isLucky(0.6) ? PRICE : null,
      isAsync: random.isLucky(asyncShare),
      isHookless: random.isLucky(0.3),
      startByMs: isStartBy ? machine.clock.now + atMs + random.below(HOUR / 2) : null,
    };
    machine.clock.after(atMs, () => world.request(request));
    if (random.isLucky(0.15)) {
      machine.clock.after(atMs + random.below(20 * MINUTE), () => world.request(request));
    }
    if (random.isLucky(0.15)) {
      machine.clock.after(atMs + random.below(20 * MINUTE), () =>
        world.order(request.taskId, account, random.isLucky(0.7) ? "cancel" : "erase"),
      );
    }
  }
}

function planMoves(world: World, chaosMs: number): void {
  const { machine, random } = world;
  const moves = random.pick([0, 0, 2, 6]);
  for (let i = 0; i < moves; i++) {
    machine.clock.after(random.below(chaosMs), () => move(world));
  }
}

function move(world: World): void {
  const { machine, random, deployment } = world;
  random.weighted<() => void>([
    [
      6,
      () => {
        const places = machine.places(random.pick(["TASKS", "CALLS", "QUEUES", "QUEUES"]));
        const living = places.flatMap(({ instance }) => instance ?? []);
        if (living.length > 0) machine.kill(random.pick(living), random.isLucky(0.5));
        world.observe("an instance dies");
      },
    ],
    [
      2,
      () => {
        if (deployment.setting.places.size === 0) return;
        world.deploy(resized(deployment.setting, random));
        world.observe("the places of a connection are changed");
      },
    ],
    [1, () => world.deploy(deployment.setting)],
    [
      0.4,
      () => {
        if (deployment.setting.places.size === 0) return;
        world.deploy(reduced(deployment.setting, random));
        world.observe("a connection is removed");
      },
    ],
    [
      1,
      () => {
        machine.putBack(random.pick([SECOND, MINUTE, 30 * MINUTE]));
        world.observe("the clock is put back");
      },
    ],
  ])();
}

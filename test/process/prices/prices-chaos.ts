import { setTimeout as sleep } from "node:timers/promises";
import pMap from "p-map";
import { seeded } from "../../simulation/random.ts";
import { type Entry, readLedger } from "../chaos/accounts.ts";
import { type ChaosReport, Counters } from "../chaos/counters.ts";
import { quiescence } from "../chaos/quiescence.ts";
import { LOCAL_VARS } from "../harness/client.ts";
import { Receiver } from "../harness/receiver.ts";
import { Workerd } from "../harness/workerd.ts";
import { type Conduct, FakeArk } from "../submit/fake-ark.ts";
import {
  arkConduct,
  costOfSeconds,
  costOfTokens,
  FractionUpstream,
  HOLD,
  runArkJob,
} from "./priced-jobs.ts";

/** Number of tasks of each upstream. */
const TASKS = 1_000;
const ACCOUNT = "buyer";
const GRANT = 10_000_000;
const VARS = { ...LOCAL_VARS, CALLBACK_SCHEDULE_S: "0,2,4" };
const AT_ONCE = { concurrency: 12 };
/** Smallest number of kills, and the times between a restart and the next one in milliseconds. */
const KILLS = 12;
const MIN_UP_MS = 500;
const MAX_UP_MS = 5_000;

/** What a task must have cost by the log of its upstream. */
interface Expected {
  readonly taskId: string;
  readonly cost: number;
}

/** What a run has recorded. */
interface Recording {
  readonly entries: readonly Entry[];
  readonly expected: readonly Expected[];
  /** Credits that the account has paid, by its balance. */
  readonly earned: number;
}

/** Creates the account that pays. */
async function openAccount({ client }: Workerd): Promise<void> {
  await client.ask("POST", "/v1/accounts", { id: ACCOUNT });
  const grant = { reference: "opening", amount: GRANT };
  await client.ask("POST", `/v1/accounts/${ACCOUNT}/grants`, grant);
}

/** Kills the relay at random moments, and restarts it, until all jobs are begun and it was killed often enough. */
async function killAgainAndAgain(
  relay: Workerd,
  random: () => number,
  isOver: () => boolean,
): Promise<number> {
  let kills = 0;
  for (; kills < KILLS || !isOver(); kills++) {
    await sleep(MIN_UP_MS + random() ** 2 * (MAX_UP_MS - MIN_UP_MS));
    await relay.restart();
  }
  return kills;
}

/** Sums what each task has cost by the ledger, by the id of the task. */
function costsIn(entries: readonly Entry[]): ReadonlyMap<string, number> {
  const costs = new Map<string, number>();
  for (const { kind, amount, task_id: id } of entries) {
    if (id === undefined) continue;
    costs.set(id, (costs.get(id) ?? 0) + (kind === "charge" ? amount : -amount));
  }
  return costs;
}

/** Lists what in a recording contradicts the promise about charges. */
function faultsIn({ entries, expected, earned }: Recording): readonly string[] {
  return [...wrongBookings(entries), ...wrongCosts(expected, entries, earned)];
}

/** Finds charges that were given back twice, by more than was charged, or without a charge. */
function wrongBookings(entries: readonly Entry[]): readonly string[] {
  const booked = entries.filter(({ kind }) => kind !== "grant");
  return Object.entries(Object.groupBy(booked, ({ reference }) => reference)).flatMap(
    ([reference, own = []]) => {
      const [first, ...others] = own;
      const isCharged = first?.kind === "charge" && first.amount === HOLD;
      const isBack = others.every(
        ({ kind, amount }) => kind === "release" && amount > 0 && amount <= HOLD,
      );
      const isRight = isCharged && isBack && others.length <= 1;
      return isRight ? [] : [`${reference}: ${JSON.stringify(own)}`];
    },
  );
}

/**
 * Runs 1,000 tasks of an Ark that states tokens and 1,000 of an upstream that states fractions, at prices by usage,
 * through `kill -9`, and compares the ledger with the logs of both upstreams.
 */
export async function pricesChaos(seed: number): Promise<ChaosReport> {
  const random = seeded(seed);
  const prompts = Array.from({ length: TASKS }, (_, nth) => `order ${nth}`);
  const conducts = new Map(prompts.map((prompt) => [prompt, arkConduct(random)]));
  const conductOf = (prompt: string): Conduct => conducts.get(prompt) ?? arkConduct(random);
  await using ark = await FakeArk.start(conductOf);
  await using receiver = await Receiver.start();
  await using relay = await Workerd.start({ vars: { ...VARS, ...ark.vars } });
  await openAccount(relay);
  const fractions = new FractionUpstream(random);
  const buyerOf = (path: string) => ({
    client: relay.client,
    account: ACCOUNT,
    callbackUrl: receiver.at(path, { kind: "answer", status: 200 }),
  });
  let isOver = false;
  const begun = Promise.all([
    pMap(
      prompts,
      async (prompt, nth): Promise<Expected> => {
        const taskId = await runArkJob(buyerOf(`/ark/${nth}`), ark, prompt);
        const tokens = conductOf(prompt).usage?.["completion_tokens"] ?? null;
        return { taskId, cost: ark.submitsOf(prompt).length * costOfTokens(tokens) };
      },
      AT_ONCE,
    ),
    pMap(prompts, (_, nth) => fractions.run(buyerOf(`/own/${nth}`)), AT_ONCE),
  ]).finally(() => (isOver = true));
  const [kills, [ofArk]] = await Promise.all([
    killAgainAndAgain(relay, seeded(seed + 1), () => isOver),
    begun,
  ]);
  await quiescence(relay, () => {});

  const own = [...fractions.log].map(([taskId, amount]): Expected => ({
    taskId,
    cost: costOfSeconds(amount),
  }));
  const { entries, balance } = await readLedger(relay.client, ACCOUNT);
  const counters = new Counters();
  counters.add("kills", kills);
  counters.add("tasks", ofArk.length + own.length);
  counters.add("submits", ark.submits.length);
  counters.add("credits earned", GRANT - balance);
  for (const { kind } of entries) counters.add(`booked: ${kind}`);
  const recording = { entries, expected: [...ofArk, ...own], earned: GRANT - balance };
  const faults = [
    ...faultsIn(recording),
    ...unnoticedFaults(recording),
    ...counters.tooLow({ tasks: 2 * TASKS, submits: TASKS, "booked: release": TASKS + 1 }),
  ];
  return { counters, faults };
}

/** Plants each fault into a copy of a recording without faults. @returns those that the checks do not notice. */
function unnoticedFaults({ entries, expected, earned }: Recording): readonly string[] {
  const at = entries.findIndex(({ kind }) => kind === "release");
  const release = entries.slice(at, at + 1);
  const more = release.map((entry) => ({ ...entry, amount: entry.amount + 1 }));
  const planted: Readonly<Record<string, Recording>> = {
    "a release that was booked twice": { entries: [...entries, ...release], expected, earned },
    "a release that was not booked": { entries: entries.toSpliced(at, 1), expected, earned },
    "a release of a credit too many": {
      entries: entries.toSpliced(at, 1, ...more),
      expected,
      earned,
    },
    "a credit that was paid and not booked": { entries, expected, earned: earned + 1 },
    "a task without a charge": {
      entries: entries.filter(({ task_id: id }) => id !== release[0]?.task_id),
      expected,
      earned,
    },
  };
  return Object.entries(planted).flatMap(([what, recording]) => {
    return faultsIn(recording).length > 0 ? [] : [`the checks do not notice: ${what}`];
  });
}

/** Lists the tasks that have not cost what the logs of the upstreams say, and a balance that differs from their sum. */
function wrongCosts(
  expected: readonly Expected[],
  entries: readonly Entry[],
  earned: number,
): readonly string[] {
  const costs = costsIn(entries);
  const wrong = expected.flatMap(({ taskId, cost }) => {
    const found = costs.get(taskId);
    return found === cost ? [] : [`${taskId}: costs ${found} instead of ${cost}`];
  });
  const sum = expected.reduce((total, { cost }) => total + cost, 0);
  return sum === earned ? wrong : [...wrong, `the account has paid ${earned} instead of ${sum}`];
}

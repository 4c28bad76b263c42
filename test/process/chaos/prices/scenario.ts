import pMap from "p-map";
import * as z from "zod";
import { seeded } from "../../../simulation/random.ts";
import { LOCAL_VARS } from "../../harness/client.ts";
import { Receiver } from "../../harness/receiver.ts";
import { Workerd } from "../../harness/workerd.ts";
import { type Conduct, FakeArk, PROMPT_CONDUCT } from "../../submit/fake-ark.ts";
import { Caller } from "../caller.ts";
import { Counters } from "../counters.ts";
import { killAgainAndAgain, upFor } from "../kills.ts";
import { openAccount, readLedger } from "../ledger.ts";
import { quiescence } from "../quiescence.ts";
import type { Recorded, Scenario } from "../scenario.ts";
import { costsOf, Customer } from "./offered-jobs.ts";
import { type Expected, faultsIn, PLANTED_FAULTS, type Recording } from "./judge.ts";
import {
  arkConduct,
  type Buyer,
  costOfSeconds,
  costOfTokens,
  FractionUpstream,
  HOLD,
  MONTHLY_LIMIT,
  runArkJob,
  runLimitedTask,
} from "./priced-jobs.ts";

/** Number of tasks of each upstream. */
const TASKS = 1_000;
const ACCOUNT = "buyer";
const GRANT = 10_000_000;
/** Customers that submit by an offer of their own, and the number of jobs of each. */
const CUSTOMERS = ["acme", "globex"];
const OFFERED = 150;
const LIMITED = "limited";
/** Number of tasks of the account with a monthly limit. */
const LIMITED_TASKS = 400;
const VARS = {
  ...LOCAL_VARS,
  CALLBACK_SCHEDULE_S: "0,2,4",
  SUBMIT_TIMEOUT_S: "5",
  SUBMIT_UNKNOWN_MINUTES: "1",
};
const AT_ONCE = { concurrency: 12 };
/** Smallest number of kills, and the times between a restart and the next one in milliseconds. */
const KILLS = 12;
const MIN_UP_MS = 500;
const MAX_UP_MS = 5_000;

const Spent = z.object({ spent: z.int() });
const Limited = z.object({ spent_this_month: z.int() });

/**
 * Runs 1,000 tasks of an Ark that states tokens and 1,000 of an upstream that states fractions, at prices by usage,
 * through `kill -9`. The ledger is compared with the logs of both upstreams. Meanwhile two customers submit 150 jobs each
 * by offers of their own, whose prices the operator changes all the time, and each task must cost what the version says
 * that it shows; and an account with a monthly limit tries to spend more.
 */
export const PRICES: Scenario<Recording> = {
  record,
  faultsIn,
  planted: PLANTED_FAULTS,
  least: {
    tasks: 2 * TASKS,
    submits: TASKS,
    "booked: release": TASKS + 1,
    "offered tasks": CUSTOMERS.length * OFFERED * 0.9,
    "prices paid": 20,
    "refused by the limit": 100,
  },
};

async function record(seed: number): Promise<Recorded<Recording>> {
  const random = seeded(seed);
  const prompts = Array.from({ length: TASKS }, (_, nth) => `order ${nth}`);
  const conducts = new Map(prompts.map((prompt) => [prompt, arkConduct(random)]));
  const conductOf = (prompt: string): Conduct => conducts.get(prompt) ?? PROMPT_CONDUCT;
  await using ark = await FakeArk.start(conductOf);
  await using receiver = await Receiver.start();
  await using relay = await Workerd.start({ vars: { ...VARS, ...ark.vars } });
  const caller = new Caller(relay.client);
  await openAccount(caller, ACCOUNT, GRANT);
  await openAccount(caller, LIMITED, GRANT);
  const body = { monthly_limit: MONTHLY_LIMIT };
  await caller.ask({ method: "PUT", path: `/v1/accounts/${LIMITED}`, body }, [200]);
  const fractions = new FractionUpstream(random);
  const buyerOf = (path: string): Buyer => ({
    caller,
    account: ACCOUNT,
    callbackUrl: receiver.at(path, { kind: "answer", status: 200 }),
  });
  const runOfArk = async (prompt: string, nth: number): Promise<Expected> => {
    const taskId = await runArkJob(buyerOf(`/ark/${nth}`), ark, prompt);
    const tokens = conductOf(prompt).usage?.["completion_tokens"] ?? null;
    return { taskId, hold: HOLD, cost: ark.submitsOf(prompt).length * costOfTokens(tokens) };
  };
  const customers = await pMap(CUSTOMERS, (name) => Customer.open(caller, name, GRANT));
  const offered = async (customer: Customer) => {
    const wanted = Array.from({ length: OFFERED }, (_, nth) => `${customer.account} ${nth}`);
    const url = receiver.at("/offered", { kind: "answer", status: 200 });
    let isDone = false;
    const [submitted] = await Promise.all([
      customer.submit(relay.url, wanted, url).finally(() => (isDone = true)),
      customer.changeUntil(caller, () => isDone),
    ]);
    return { customer, submitted };
  };
  const tasks = Array.from({ length: LIMITED_TASKS }, (_, nth) => nth);
  const ofLimited = async (nth: number) => {
    const isCharged = await runLimitedTask(
      { ...buyerOf(`/limited/${nth}`), account: LIMITED },
      nth,
    );
    if (!isCharged) counters.add("refused by the limit");
  };
  const counters = new Counters();
  let isOver = false;
  const begun = Promise.all([
    pMap(prompts, runOfArk, AT_ONCE),
    pMap(prompts, (_, nth) => fractions.run(buyerOf(`/own/${nth}`)), AT_ONCE),
    pMap(customers, offered),
    pMap(tasks, ofLimited, AT_ONCE),
  ]).finally(() => (isOver = true));
  const randomKill = seeded(seed + 1);
  const [[ofArk, , byOffers]] = await Promise.all([
    begun,
    killAgainAndAgain({
      relay,
      counters,
      moment: () => upFor(randomKill, MIN_UP_MS, MAX_UP_MS),
      isEnough: (kills) => kills >= KILLS && isOver,
    }),
  ]);
  await quiescence(relay, () => {});

  const own = [...fractions.log].map(([taskId, amount]): Expected => ({
    taskId,
    hold: HOLD,
    cost: costOfSeconds(amount),
  }));
  const costs = await pMap(byOffers, ({ customer, submitted }) =>
    costsOf(customer, submitted, relay, ark),
  );
  const ledgers = await pMap([ACCOUNT, ...CUSTOMERS], (name) => readLedger(relay.client, name));
  const entries = ledgers.flatMap((ledger) => ledger.entries);
  const earned = ledgers.reduce((sum, { balance }) => sum + GRANT - balance, 0);
  counters.add("tasks", ofArk.length + own.length);
  counters.add("offered tasks", costs.flat().length);
  counters.add("prices paid", new Set(costs.flat().map(({ hold }) => hold)).size);
  counters.add("submits", ark.submits.length);
  counters.add("credits earned", earned);
  for (const { kind } of entries) counters.add(`booked: ${kind}`);
  const reports = await pMap([ACCOUNT, ...CUSTOMERS], async (name) => {
    const { json } = await relay.client.ask("GET", `/v1/accounts/${name}/spend`);
    return Spent.parse(json).spent;
  });
  const { json: limit } = await relay.client.ask("GET", `/v1/accounts/${LIMITED}`);
  const { entries: limited } = await readLedger(relay.client, LIMITED);
  const recording: Recording = {
    entries,
    expected: [...ofArk, ...own, ...costs.flat()],
    earned,
    reported: reports.reduce((sum, spent) => sum + spent, 0),
    limited,
    spentThisMonth: Limited.parse(limit).spent_this_month,
  };
  return { recording, counters };
}

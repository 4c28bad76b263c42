import { setTimeout as sleep } from "node:timers/promises";
import pMap from "p-map";
import { expect, it } from "vitest";
import * as z from "zod";
import { seeded } from "../../simulation/random.ts";
import { type Entry, readLedger } from "../chaos/accounts.ts";
import { quiescence } from "../chaos/quiescence.ts";
import { LOCAL_VARS } from "../harness/client.ts";
import { Receiver } from "../harness/receiver.ts";
import { Workerd } from "../harness/workerd.ts";
import type { Order } from "../submit/chaos/orders.ts";
import { submitUntilFinal } from "../submit/chaos/submitting.ts";
import { ARK_MODEL, ARK_TASKS, type Conduct, FakeArk } from "../submit/fake-ark.ts";
import {
  arkConduct,
  costOfSeconds,
  costOfTokens,
  FractionUpstream,
  HOLD,
  TOKEN_PRICE,
} from "./priced-jobs.ts";

const SEED = Number(process.env["CHAOS_SEED"] ?? 20_261_127);
const TASKS = 1_000;
const ACCOUNT = "buyer";
const GRANT = 10_000_000;
const OFFER = { connection: "ark", path: ARK_TASKS, models: [ARK_MODEL], price: TOKEN_PRICE };
const VARS = {
  ...LOCAL_VARS,
  OFFERS: JSON.stringify([OFFER]),
  SUBMIT_TIMEOUT_S: "5",
  SUBMIT_UNKNOWN_MINUTES: "2",
  CALLBACK_SCHEDULE_S: "0,2,4",
};
/** Many at once, because a submission that a kill has cut off keeps its caller waiting for `SUBMIT_TIMEOUT_S`. */
const AT_ONCE = { concurrency: 40 };
/** Time limit of the test in milliseconds, for a busy machine. */
const TIMEOUT_MS = 900_000;
/** Smallest number of kills, and the times between a restart and the next one in milliseconds. */
const KILLS = 12;
const MIN_UP_MS = 1_000;
const MAX_UP_MS = 8_000;

const AccountKey = z.object({ key: z.string() });

/** Creates the account that pays. @returns its API key. */
async function openAccount({ client }: Workerd): Promise<string> {
  const path = `/v1/accounts/${ACCOUNT}`;
  await client.ask("POST", "/v1/accounts", { id: ACCOUNT });
  await client.ask("POST", `${path}/grants`, { reference: "opening", amount: GRANT });
  return AccountKey.parse((await client.ask("POST", `${path}/keys`, {})).json).key;
}

function orderOf(nth: number, conduct: Conduct): Order {
  const [prompt, path] = [`order ${nth}`, `/${nth}`];
  return { nth, prompt, key: `order-${nth}`, path, pauseMs: 0, conduct };
}

/** Kills the relay at random moments, and restarts it, until all jobs are done and it was killed often enough. */
async function killAgainAndAgain(relay: Workerd, isOver: () => boolean): Promise<number> {
  const random = seeded(SEED + 1);
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

/** Finds charges that were given back twice, or by more than was charged. */
function faultsIn(entries: readonly Entry[]): readonly string[] {
  return Object.entries(Object.groupBy(entries, ({ reference }) => reference)).flatMap(
    ([reference, own = []]) => {
      const [first, ...others] = own;
      if (first?.kind === "grant") return [];
      const isRight =
        first?.kind === "charge" &&
        first.amount === HOLD &&
        others.length <= 1 &&
        others.every(({ amount }) => amount > 0 && amount <= HOLD);
      return isRight ? [] : [`${reference}: ${own.map(({ kind, amount }) => `${kind} ${amount}`)}`];
    },
  );
}

it(
  "through kill -9 again and again, 1,000 submissions to an Ark that states tokens and 1,000 tasks of an upstream that states fractions cost what the logs of both upstreams say, to the credit",
  async () => {
    const random = seeded(SEED);
    const orders = Array.from({ length: TASKS }, (_, nth) => orderOf(nth, arkConduct(random)));
    const conducts = new Map(orders.map(({ prompt, conduct }) => [prompt, conduct]));
    const conductOf = (prompt: string): Conduct => conducts.get(prompt) ?? arkConduct(random);
    await using ark = await FakeArk.start(conductOf);
    await using receiver = await Receiver.start();
    await using relay = await Workerd.start({ vars: { ...VARS, ...ark.vars } });
    const at = (path: string) => receiver.at(path, { kind: "answer", status: 200 });
    const door = {
      url: relay.url,
      key: await openAccount(relay),
      callbackUrlOf: ({ path }: Order) => at(path),
    };
    const fractions = new FractionUpstream(relay.client, random);
    let isOver = false;
    const [kills, answers] = await Promise.all([
      killAgainAndAgain(relay, () => isOver),
      Promise.all([
        pMap(orders, (order) => submitUntilFinal(door, order), AT_ONCE),
        pMap(orders, ({ nth }) => fractions.run(ACCOUNT, at(`/own/${nth}`)), AT_ONCE),
      ])
        .then(([final]) => final)
        .finally(() => (isOver = true)),
    ]);
    await quiescence(relay, () => {});

    const { entries, balance } = await readLedger(relay.client, ACCOUNT);
    expect(faultsIn(entries)).toEqual([]);
    const costs = costsIn(entries);
    const stated = orders.map(({ prompt, conduct, nth }) => {
      const jobs = ark.submitsOf(prompt).filter(({ jobId }) => jobId !== null);
      const cost = costOfTokens(conduct.usage?.["completion_tokens"] ?? null);
      return { taskId: answers[nth]?.taskId ?? "", cost: jobs.length * cost };
    });
    const own = [...fractions.log].map(([taskId, amount]) => ({
      taskId,
      cost: costOfSeconds(amount),
    }));
    const expected = [...stated, ...own];
    const wrong = expected.filter(({ taskId, cost }) => (costs.get(taskId) ?? 0) !== cost);
    expect(wrong).toEqual([]);
    const sum = expected.reduce((total, { cost }) => total + cost, 0);
    expect(GRANT - balance).toBe(sum);
    const releases = entries.filter(({ kind }) => kind === "release");
    console.log(`${kills} kills; ${releases.length} releases; ${sum} credits earned`);
    expect([own.length, ark.submits.length >= TASKS, releases.length > TASKS]).toEqual([
      TASKS,
      true,
      true,
    ]);
  },
  TIMEOUT_MS,
);

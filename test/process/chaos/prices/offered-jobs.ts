import { setTimeout as sleep } from "node:timers/promises";
import pMap from "p-map";
import * as z from "zod";
import type { Workerd } from "../../harness/workerd.ts";
import { ARK_MODEL, ARK_TASKS, type FakeArk, PROMPT_CONDUCT } from "../../submit/fake-ark.ts";
import type { Caller } from "../caller.ts";
import { openAccount } from "../ledger.ts";
import { type FinalAnswer, submitUntilFinal } from "../submissions/submitting.ts";

const FIRST_CREDITS = 50;
const CHANGE_EVERY_MS = 150;
const AT_ONCE = { concurrency: 4 };

const Key = z.object({ key: z.string() });
const Stored = z.object({ version: z.int() });
const Priced = z.object({
  submission: z.object({ offer: z.object({ name: z.string(), version: z.int() }) }),
});

/** A customer with an offer of its own, whose price the operator changes again and again. */
export class Customer {
  readonly account: string;
  /** Credits that each version of the customer's offer states, by the version. */
  readonly prices = new Map<number, number>();
  readonly #key: string;
  #credits = FIRST_CREDITS;

  private constructor(account: string, key: string) {
    this.account = account;
    this.#key = key;
  }

  /** Creates the account and the first version of its offer. */
  static async open(caller: Caller, account: string, credits: number): Promise<Customer> {
    await openAccount(caller, account, credits);
    const path = `/v1/accounts/${account}/keys`;
    const { json } = await caller.ask({ method: "POST", path, body: {} }, [201]);
    const customer = new Customer(account, Key.parse(json).key);
    await customer.#change(caller);
    return customer;
  }

  /** Changes the price of the customer's offer until the work is over. */
  async changeUntil(caller: Caller, isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      await this.#change(caller);
      await sleep(CHANGE_EVERY_MS);
    }
  }

  /** Submits jobs through the relay, and repeats each call until its answer is final. */
  async submit(
    url: string,
    prompts: readonly string[],
    callbackUrl: string,
  ): Promise<readonly Submitted[]> {
    const door = { url, key: this.#key, callbackUrlOf: () => callbackUrl };
    return pMap(
      prompts,
      async (prompt, nth) => {
        const order = { nth, prompt, key: prompt, path: "/offered", pauseMs: 0 };
        const wish = { conduct: PROMPT_CONDUCT, isCall: false, readEveryMs: null };
        return { prompt, answer: await submitUntilFinal(door, { ...order, ...wish }) };
      },
      AT_ONCE,
    );
  }

  async #change(caller: Caller): Promise<void> {
    const credits = this.#credits++;
    const body = {
      connection: "ark",
      path: ARK_TASKS,
      models: [ARK_MODEL],
      accounts: [this.account],
      price: { credits },
    };
    const path = `/v1/offers/${this.account}`;
    const { json } = await caller.ask({ method: "PUT", path, body }, [200, 201]);
    this.prices.set(Stored.parse(json).version, credits);
  }
}

/** A job that a customer has submitted, with the final answer; null when there was none. */
interface Submitted {
  readonly prompt: string;
  readonly answer: FinalAnswer | null;
}

/** What a task costs by the version of the offer that it shows, if the upstream has got its call. */
export interface OfferedCost {
  readonly taskId: string;
  readonly hold: number;
  readonly cost: number;
}

/** Returns what the tasks of submitted jobs must have cost: nothing where the call has not reached the upstream. */
export async function costsOf(
  { prices }: Customer,
  submitted: readonly Submitted[],
  { client }: Workerd,
  ark: FakeArk,
): Promise<readonly OfferedCost[]> {
  const costs = await pMap(
    submitted,
    async ({ prompt, answer }): Promise<readonly OfferedCost[]> => {
      if (answer === null) return [];
      const { json } = await client.ask("GET", `/v1/tasks/${answer.taskId}`);
      const { version } = Priced.parse(json).submission.offer;
      const hold = prices.get(version);
      if (hold === undefined)
        throw new Error(`${answer.taskId} shows the unknown version ${version}`);
      const isSent = ark.submitsOf(prompt).length > 0;
      return [{ taskId: answer.taskId, hold, cost: isSent ? hold : 0 }];
    },
    AT_ONCE,
  );
  return costs.flat();
}

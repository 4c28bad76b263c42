import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "../harness/client.ts";
import { type Conduct, PROMPT_CONDUCT } from "../submit/fake-ark.ts";

/** Credits that are charged for a job at first: the most that it can cost. */
export const HOLD = 200;
export const MIN = 10;
const REPEAT_AFTER_MS = 200;
const MAX_TOKENS = 20_000;
const MAX_THOUSANDTHS = 400_000;
/** Shares of the jobs that state no usage, or one of 0. */
const SILENT_SHARE = 0.05;
const ZERO_SHARE = 0.05;
const HUNG_UP_SHARE = 0.1;
const MAX_JOB_MS = 3_000;

/** Price of the jobs of the fake Ark: 15,000 credits for a million tokens. */
export const TOKEN_PRICE = {
  hold: HOLD,
  min: MIN,
  per: { usage: "completion_tokens", units: 1_000_000, credits: 15_000 },
};
/** Price of the jobs of the fake upstream that reports fractions of seconds: 0.7 credits for a second. */
export const SECOND_PRICE = {
  hold: HOLD,
  min: MIN,
  per: { usage: "seconds", units: 1, credits: 0.7 },
};

/** Returns what a job costs in credits, in whole numbers. @param tokens null when it has stated none. */
export function costOfTokens(tokens: number | null): number {
  // 15,000 for a million is 3 for 200.
  return clamped(tokens, 3, 200);
}

/** Returns what a job costs in credits, in whole numbers. @param thousandths of a second; null when none were stated. */
export function costOfSeconds(thousandths: number | null): number {
  // 0.7 for a second is 7 for 10,000 thousandths of one.
  return clamped(thousandths, 7, 10_000);
}

function clamped(amount: number | null, credits: number, units: number): number {
  if (amount === null || amount <= 0) return HOLD;
  const price = (amount * credits - ((amount * credits) % units)) / units;
  const roundedUp = (amount * credits) % units === 0 ? price : price + 1;
  return Math.min(Math.max(roundedUp, MIN), HOLD);
}

/** Returns a random amount; null for a job that states none. */
function amountOf(random: () => number, most: number): number | null {
  const [kind, share] = [random(), random()];
  if (kind < SILENT_SHARE) return null;
  return kind < SILENT_SHARE + ZERO_SHARE ? 0 : Math.floor(share * most);
}

/** Returns what the fake Ark does with a submission: its job states a random number of tokens. */
export function arkConduct(random: () => number): Conduct {
  const tokens = amountOf(random, MAX_TOKENS);
  const usage =
    tokens === null ? {} : { usage: { completion_tokens: tokens, total_tokens: 2 * tokens } };
  const answer = random() < HUNG_UP_SHARE ? "hang_up" : "id";
  return { ...PROMPT_CONDUCT, answer, doneAfterMs: random() * MAX_JOB_MS, ...usage };
}

/**
 * Upstream of the operator's own, which reports fractions of seconds. Its log has what it has stated for each job, in
 * thousandths of a second.
 */
export class FractionUpstream {
  readonly log = new Map<string, number | null>();
  readonly #client: Client;
  readonly #random: () => number;

  constructor(client: Client, random: () => number) {
    this.#client = client;
    this.#random = random;
  }

  /** Registers the task of a job and reports its end, each again and again until the relay has answered. */
  async run(account: string, callbackUrl: string): Promise<void> {
    const id = randomUUID();
    const thousandths = amountOf(this.#random, MAX_THOUSANDTHS);
    const task = { id, model: "m", account, callback_url: callbackUrl, price: SECOND_PRICE };
    await this.#tell("/v1/tasks", task, [201, 200]);
    const output = { urls: [`https://cdn.example.com/${id}.mp4`], metadata: {} };
    const usage = thousandths === null ? {} : { usage: { seconds: Number(`${thousandths}e-3`) } };
    this.log.set(id, thousandths);
    await this.#tell("/v1/events", { id, status: "completed", output, ...usage }, [202, 200]);
  }

  async #tell(path: string, body: object, accepted: readonly number[]): Promise<void> {
    for (;;) {
      const answer = await this.#client.ask("POST", path, body).catch(() => null);
      if (answer !== null && accepted.includes(answer.status)) return;
      if (answer !== null && answer.status !== 503) throw new Error(`${path}: ${answer.text}`);
      await sleep(REPEAT_AFTER_MS);
    }
  }
}

import { randomUUID } from "node:crypto";
import * as z from "zod";
import {
  ARK_MODEL,
  ARK_TASKS,
  type Conduct,
  type FakeArk,
  PROMPT_CONDUCT,
} from "../../submit/fake-ark.ts";
import type { Caller } from "../caller.ts";

/** Credits that are charged for a job at first: the most that it can cost. */
export const HOLD = 200;
const MIN = 10;
const MAX_TOKENS = 20_000;
const MAX_THOUSANDTHS = 400_000;
/** Shares of the jobs that state no usage, or one of 0. */
const SILENT_SHARE = 0.05;
const ZERO_SHARE = 0.05;
const MAX_JOB_MS = 3_000;

const Registered = z.object({ hook_url: z.string() });
const Accepted = z.object({ id: z.string() });

/** Price of the jobs of the fake Ark: 15,000 credits for a million tokens. */
const TOKEN_PRICE = {
  hold: HOLD,
  min: MIN,
  per: { usage: "completion_tokens", units: 1_000_000, credits: 15_000 },
};
/** Price of the jobs of the fake upstream that reports fractions of seconds: 0.7 credits for a second. */
const SECOND_PRICE = {
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
  return { ...PROMPT_CONDUCT, doneAfterMs: random() * MAX_JOB_MS, ...usage };
}

/** Whoever has tasks made: the account that pays, and where the callback goes. */
export interface Buyer {
  readonly caller: Caller;
  readonly account: string;
  readonly callbackUrl: string;
}

/**
 * Registers a task at the price by tokens, submits its job to the fake Ark once, and attaches the job. Requests to the
 * relay are repeated until it has answered.
 * @returns the id of the task.
 */
export async function runArkJob(
  { caller, account, callbackUrl }: Buyer,
  ark: FakeArk,
  prompt: string,
): Promise<string> {
  const id = randomUUID();
  const common = { id, model: ARK_MODEL, provider: "ark", account, callback_url: callbackUrl };
  const registered = await tell(caller, "/v1/tasks", { ...common, price: TOKEN_PRICE });
  const jobId = await submitToArk(ark, prompt, Registered.parse(registered).hook_url);
  await tell(caller, `/v1/tasks/${id}/upstream`, { provider: "ark", id: jobId });
  return id;
}

async function submitToArk(ark: FakeArk, prompt: string, hookUrl: string): Promise<string> {
  const response = await fetch(`${ark.origin}${ARK_TASKS}`, {
    method: "POST",
    headers: { Authorization: `Bearer ${ark.vars["ARK_API_KEY"]}` },
    body: JSON.stringify({
      model: ARK_MODEL,
      callback_url: hookUrl,
      content: [{ type: "text", text: prompt }],
    }),
  });
  return Accepted.parse(await response.json()).id;
}

/**
 * Upstream of the operator's own, which reports fractions of seconds. Its log has what it has stated for each task, in
 * thousandths of a second; null for no statement.
 */
export class FractionUpstream {
  readonly log = new Map<string, number | null>();
  readonly #random: () => number;

  constructor(random: () => number) {
    this.#random = random;
  }

  /** Registers a task at the price by seconds, and reports the end of its job. */
  async run({ caller, account, callbackUrl }: Buyer): Promise<void> {
    const id = randomUUID();
    const thousandths = amountOf(this.#random, MAX_THOUSANDTHS);
    const task = { id, model: "m", account, callback_url: callbackUrl, price: SECOND_PRICE };
    await tell(caller, "/v1/tasks", task);
    const output = { urls: [`https://cdn.example.com/${id}.mp4`], metadata: {} };
    const usage = thousandths === null ? {} : { usage: { seconds: Number(`${thousandths}e-3`) } };
    this.log.set(id, thousandths);
    await tell(caller, "/v1/events", { id, status: "completed", output, ...usage });
  }
}

/** Credits that the account with a limit may spend in a month, and the price of each of its tasks. */
export const MONTHLY_LIMIT = 600;
const LIMITED_PRICE = 7;

/**
 * Registers the nth task of an account with a monthly limit. Every third task is reported as failed, and its refund gives
 * room for another; the others stay open, so that the limit is reached.
 * @returns false when the charge was refused.
 */
export async function runLimitedTask(
  { caller, account, callbackUrl }: Buyer,
  nth: number,
): Promise<boolean> {
  const id = randomUUID();
  const task = { id, model: "m", account, callback_url: callbackUrl, credits: LIMITED_PRICE };
  const call = { method: "POST", path: "/v1/tasks", body: task };
  const { status } = await caller.ask(call, [201, 402], [200]);
  if (status === 402) return false;
  if (nth % 3 !== 0) return true;
  const error = { code: "moderation", message: "refused" };
  await tell(caller, "/v1/events", { id, status: "failed", error });
  return true;
}

/** Sends a request until the relay has answered. @throws when it refuses the request. */
async function tell(caller: Caller, path: string, body: object): Promise<unknown> {
  const { json } = await caller.ask({ method: "POST", path, body }, [200, 201, 202]);
  return json;
}

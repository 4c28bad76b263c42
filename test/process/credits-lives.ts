import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "./client.ts";
import type { Behaviour, Receiver } from "./receiver.ts";
import { seeded } from "./seeded.ts";

const TASKS = 280;
const MAX_PRICE = 9;
const MAX_PAUSE_MS = 600;
const DEADLINE_S = 10;
const REPEAT_AFTER_MS = 40;
const GIVE_UP_AFTER_MS = 30_000;

/** How a task ends: by an event, by cancellation, by its deadline, or not at all. */
export type End = "completed" | "failed" | "canceled" | "upstream_timeout" | "open";

/** What is to happen to one task. */
export interface Life {
  readonly id: string;
  readonly accountId: string;
  readonly credits: number;
  readonly end: End;
  readonly callbackUrl: string | null;
  /** Before it is created, and before it ends. */
  readonly pausesMs: readonly [number, number];
  /** Credits that its account is given meanwhile, under the id of the task. */
  readonly grant: number;
}

export interface Opening {
  readonly id: string;
  readonly grant: number;
}

/** One that can always pay, and one that often cannot. */
export const TENANTS: readonly [Opening, Opening] = [
  { id: "rich", grant: 1_000_000 },
  { id: "poor", grant: 40 },
];

const ENDS: readonly End[] = [
  ...Array<End>(5).fill("completed"),
  ...Array<End>(6).fill("failed"),
  ...Array<End>(4).fill("canceled"),
  "upstream_timeout",
  "open",
];

/** The same tasks for the same seed. */
export function livesOf(seed: number, receiver: Receiver): Life[] {
  const random = seeded(seed);
  const pick = (below: number) => Math.floor(random() * below);
  return Array.from({ length: TASKS }, (_, i) => {
    const id = `00000000-0000-4000-8000-${String(i).padStart(12, "0")}`;
    const isPoor = pick(4) === 0;
    const answers: Behaviour[] = [500, 200].map((status) => {
      return { kind: "answer", status, afterMs: random() * 300 };
    });
    const url = receiver.at(`/${id}`, ...answers.slice(pick(2)));
    return {
      id,
      accountId: TENANTS[isPoor ? 1 : 0].id,
      credits: 1 + pick(MAX_PRICE),
      end: ENDS[pick(ENDS.length)] ?? "open",
      callbackUrl: pick(10) === 0 ? null : url,
      pausesMs: [random() * MAX_PAUSE_MS, random() * MAX_PAUSE_MS],
      grant: isPoor && pick(4) === 0 ? 1 + pick(MAX_PRICE) : 0,
    };
  });
}

interface Answer {
  readonly status: number;
  /** Whether an earlier answer to the same request was lost. */
  readonly isRepeat: boolean;
}

/** The operator on behalf of a tenant: repeats every request until it has an answer. */
export class Tenant {
  lostAnswers = 0;
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  async open({ id, grant }: Opening): Promise<void> {
    await this.#insist([201], "/v1/accounts", { id });
    await this.#grant(id, "opening", grant);
  }

  /** Creates a task and ends it; whether it could be paid. */
  async live(life: Life): Promise<boolean> {
    const { id, accountId, credits, grant, callbackUrl, end, pausesMs } = life;
    await sleep(pausesMs[0]);
    if (grant > 0) await this.#grant(accountId, id, grant);
    const order = { id, model: "seedance-1-pro", account: accountId, credits };
    const deadline_at = Math.floor(Date.now() / 1000) + DEADLINE_S;
    const created = await this.#insist([201, 402], "/v1/tasks", {
      ...order,
      callback_url: callbackUrl,
      ...(end === "upstream_timeout" ? { deadline_at } : {}),
    });
    if (created.status === 402) return false;
    await sleep(pausesMs[1]);
    await this.#end(life);
    return true;
  }

  async #end({ id, end }: Life): Promise<void> {
    switch (end) {
      case "completed": {
        const output = { urls: [`https://cdn.example.com/${id}.mp4`], metadata: {} };
        await this.#insist([202], "/v1/events", { id, status: end, output });
        return;
      }
      case "failed": {
        const error = { code: "nsfw", message: "The upstream refused the prompt." };
        await this.#insist([202], "/v1/events", { id, status: end, error });
        return;
      }
      case "canceled": {
        const { status, isRepeat } = await this.#insist([200, 409], `/v1/tasks/${id}/cancel`, {});
        if (status === 409 && !isRepeat)
          throw new Error(`${id} was settled before it was canceled`);
        return;
      }
      case "upstream_timeout":
      case "open":
        return;
    }
  }

  async #grant(accountId: string, reference: string, amount: number): Promise<void> {
    await this.#insist([201], `/v1/accounts/${accountId}/grants`, { reference, amount });
  }

  /** @throws at an answer that is none of these; 200 is one for a request whose answer was lost. */
  async #insist(expected: readonly number[], path: string, body: object): Promise<Answer> {
    const giveUpAt = Date.now() + GIVE_UP_AFTER_MS;
    for (let isRepeat = false; Date.now() < giveUpAt; await sleep(REPEAT_AFTER_MS)) {
      const answer = await this.#client.ask("POST", path, body).catch(() => null);
      if (answer === null) {
        this.lostAnswers++;
        isRepeat = true;
        continue;
      }
      const { status } = answer;
      if (status === 503) isRepeat = true;
      else if (expected.includes(status) || (isRepeat && status === 200))
        return { status, isRepeat };
      else throw new Error(`POST ${path}: ${status} ${JSON.stringify(answer.json)}`);
    }
    throw new Error(`POST ${path}: no answer`);
  }
}

import { idOfKey } from "../../../../src/api/tasks/idempotency-key.ts";
import { seeded } from "../../../simulation/random.ts";
import type { Conduct } from "../../submit/fake-ark.ts";

export const ACCOUNTS = ["x", "y"] as const;
export type Account = (typeof ACCOUNTS)[number];

/** Name of the pool. */
export const POOL = "all";
/** Places of each connection. The first one is in no pool. */
export const PLACES = { solo: 4, "member-a": 3, "member-b": 2 } as const;
export type ConnectionName = keyof typeof PLACES;
/** Connections that may run the jobs of what is submitted to a name. */
export const MEMBERS: Readonly<Record<Order["via"], readonly ConnectionName[]>> = {
  solo: ["solo"],
  [POOL]: ["member-a", "member-b"],
};

/** One job that a client of an account wants, and what the upstream does with it. */
export interface Order {
  readonly nth: number;
  /** Text of the prompt, unique to the order. */
  readonly prompt: string;
  /** `Idempotency-Key` of the submission. */
  readonly key: string;
  /** Path of its callback at the receiver. It begins with the account. */
  readonly path: string;
  readonly account: Account;
  /** Name to which it is submitted. */
  readonly via: "solo" | typeof POOL;
  /** True when the client waits for the upstream's answer, so that its submission does not wait for a place. */
  readonly isWaiting: boolean;
  /** Time from the submission by which the job is to be sent, in seconds. Null for the usual one. */
  readonly startByS: number | null;
  /** Time from the answer after which the client cancels its task, in milliseconds. Null when it does not. */
  readonly cancelAfterMs: number | null;
  /** Number of times that the upstream refuses the call at first, because of too many jobs in flight. */
  readonly refusals: number;
  readonly conduct: Conduct;
}

const POOL_SHARE = 0.55;
const WAITING_SHARE = 0.15;
const START_BY_SHARE = 0.1;
const CANCELED_SHARE = 0.1;
const BUSY_SHARE = 0.04;
const REFUSED_SHARE = 0.05;
const HUNG_UP_SHARE = 0.1;
const FAILED_SHARE = 0.15;
const HOOKS_SHARE = 0.97;
/** Longest times in milliseconds: of an answer, of a job, until a cancellation. */
const MAX_ANSWER_MS = 400;
const MAX_JOB_MS = 2_500;
const MAX_CANCEL_MS = 4_000;
const MAX_START_BY_S = 20;

/** Returns an order of a run, which depends on the seed and its number alone. */
export function orderOf(seed: number, nth: number): Order {
  const random = seeded(seed * 100_003 + nth);
  const isLucky = (share: number) => random() < share;
  const account = isLucky(0.7) ? "x" : "y";
  const isWaiting = isLucky(WAITING_SHARE);
  return {
    nth,
    prompt: `order ${nth}`,
    key: `order-${seed}-${nth}`,
    path: `/${account}/${nth}`,
    account,
    via: isLucky(POOL_SHARE) ? POOL : "solo",
    isWaiting,
    startByS: isLucky(START_BY_SHARE) && !isWaiting ? 2 + random() * MAX_START_BY_S : null,
    cancelAfterMs: isLucky(CANCELED_SHARE) ? random() * MAX_CANCEL_MS : null,
    refusals: isLucky(BUSY_SHARE) ? 1 : 0,
    conduct: conductOf(random),
  };
}

function conductOf(random: () => number): Conduct {
  const [kind, share, length, end, hooks] = [random(), random(), random(), random(), random()];
  const isRefused = kind < REFUSED_SHARE;
  const isHungUp = !isRefused && kind < REFUSED_SHARE + HUNG_UP_SHARE;
  return {
    answer: isRefused ? "refusal" : isHungUp ? "hang_up" : "id",
    answerAfterMs: share * MAX_ANSWER_MS,
    doneAfterMs: length * MAX_JOB_MS,
    isFailed: end < FAILED_SHARE,
    sendsHooks: hooks < HOOKS_SHARE,
  };
}

/** Returns the id of the task of an order, which the relay derives from the account and the `Idempotency-Key`. */
export function taskIdOf({ account, key }: Order): Promise<string> {
  return idOfKey("account", `${account}\n${key}`);
}

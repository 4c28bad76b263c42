import { seeded } from "../../../simulation/random.ts";
import type { Conduct } from "../../submit/fake-ark.ts";

/** One job or image that a caller wants, and what the upstream does with it. */
export interface Order {
  readonly nth: number;
  /** Text of the prompt, unique to the order. */
  readonly prompt: string;
  /** `Idempotency-Key` of the submission. */
  readonly key: string;
  /** Path of its callback at the receiver. */
  readonly path: string;
  /** Pause before the first call, in milliseconds. */
  readonly pauseMs: number;
  readonly conduct: Conduct;
  /** True for an image, whose caller does not wait for the upstream's answer. */
  readonly isCall: boolean;
  /** Time between two reads of the job in milliseconds, for a client that waits for it; null where none does. */
  readonly readEveryMs: number | null;
}

const MAX_PAUSE_MS = 2_000;
const REFUSED_SHARE = 0.1;
const HUNG_UP_SHARE = 0.15;
const HOOKS_SHARE = 0.7;
const SLOW_SHARE = 0.2;
/** Longest time in milliseconds of an ordinary answer, of a slow one, and of a job. */
const MAX_ANSWER_MS = 300;
const MAX_SLOW_ANSWER_MS = 9_000;
const MAX_JOB_MS = 8_000;
const CALL_SHARE = 0.25;
const WAITING_SHARE = 0.6;
const MIN_READ_MS = 300;
const MAX_READ_MS = 1_000;

/** Returns the orders of a run, which depend on the seed alone. */
export function ordersOf(seed: number, count: number): readonly Order[] {
  const random = seeded(seed);
  return Array.from({ length: count }, (_, nth) => ({
    nth,
    prompt: `order ${nth}`,
    key: `order-${seed}-${nth}`,
    path: `/${nth}`,
    pauseMs: random() * MAX_PAUSE_MS,
    conduct: conductOf(random),
    ...wishOf(random),
  }));
}

/** Returns whether an order is one for an image, and how its client waits for its job otherwise. */
function wishOf(random: () => number): Pick<Order, "isCall" | "readEveryMs"> {
  const [what, kind, share] = [random(), random(), random()];
  const isCall = what < CALL_SHARE;
  const isWaiting = !isCall && kind < WAITING_SHARE;
  const readEveryMs = isWaiting ? MIN_READ_MS + share * (MAX_READ_MS - MIN_READ_MS) : null;
  return { isCall, readEveryMs };
}

function conductOf(random: () => number): Conduct {
  const [kind, pace, share, length, hooks] = [random(), random(), random(), random(), random()];
  const isRefused = kind < REFUSED_SHARE;
  const isHungUp = !isRefused && kind < REFUSED_SHARE + HUNG_UP_SHARE;
  return {
    answer: isRefused ? "refusal" : isHungUp ? "hang_up" : "id",
    answerAfterMs: share * (pace < SLOW_SHARE ? MAX_SLOW_ANSWER_MS : MAX_ANSWER_MS),
    doneAfterMs: length * MAX_JOB_MS,
    sendsHooks: hooks < HOOKS_SHARE,
  };
}

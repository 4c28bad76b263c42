import {
  CALLBACK_EVENTS,
  type CallbackEvent,
} from "../../../../src/core/record/callback-events.ts";
import { Random } from "../../../simulation/random.ts";
import type { Behaviour } from "../../harness/receiver.ts";

/** Owners of endpoints and of tasks: two accounts, and the relay (null). */
export const OWNERS = ["acme", "globex", null] as const;
export type Owner = (typeof OWNERS)[number];

/** Name of the endpoint of tasks that name no receiver. */
export const DEFAULT = "default";
export const NAMES = [DEFAULT, "orders", "invoices", "archive"] as const;
/** Name of an endpoint that is never created. */
const NEVER = "never";

/** Waits of `CALLBACK_SCHEDULE_S`, for endpoints without waits of their own. */
export const DEFAULT_SCHEDULE_S: readonly number[] = [0, 1, 1];
const SCHEDULES: readonly (readonly number[] | null)[] = [null, [0, 2], [1, 1, 3], [0, 3, 1, 2]];
const EVENTS: readonly (readonly [weight: number, events: readonly CallbackEvent[]])[] = [
  [4, ["completed", "failed"]],
  [4, CALLBACK_EVENTS],
  [2, ["completed"]],
  [2, ["failed", "progress"]],
];
const BEHAVIOURS: readonly (readonly [weight: number, behaviour: Behaviour])[] = [
  [40, { kind: "answer", status: 500 }],
  [10, { kind: "answer", status: 503, afterMs: 1_200 }],
  [25, { kind: "answer", status: 200, afterMs: 600 }],
  [15, { kind: "answer", status: 204 }],
  [6, { kind: "close" }],
  [4, { kind: "hang" }],
];
/** Number of planned answers at one URL; the last one is repeated. */
const ANSWERS = 60;
const MAX_TASK_PAUSE_MS = 2_500;
const MAX_CHANGE_PAUSE_MS = 1_000;

/** Plan of a change of an endpoint. A deletion or a rotation becomes a replacement where nothing can be deleted or rotated. */
export interface ChangePlan {
  readonly kind: "put" | "rotate" | "delete";
  readonly name: string;
  /** Number of the host to which its callbacks go then. */
  readonly host: number;
  readonly hasHeader: boolean;
  readonly scheduleS: readonly number[] | null;
  readonly events: readonly CallbackEvent[];
  readonly hasOwnSecret: boolean;
  /** Behaviours of the receiver at the URL that the endpoint has then. */
  readonly answers: readonly Behaviour[];
  readonly pauseMs: number;
}

/** Returns a random change of an endpoint whose callbacks go to one of `hosts` hosts. */
export function changePlan(random: Random, hosts: number): ChangePlan {
  return {
    kind: random.weighted([
      [6, "put"],
      [5, "rotate"],
      [1, "delete"],
    ]),
    name: random.pick(NAMES),
    host: random.below(hosts),
    hasHeader: random.isLucky(0.7),
    scheduleS: random.pick(SCHEDULES),
    events: random.weighted(EVENTS),
    hasOwnSecret: random.isLucky(0.6),
    answers: Array.from({ length: ANSWERS }, () => random.weighted(BEHAVIOURS)),
    pauseMs: random.next() * MAX_CHANGE_PAUSE_MS,
  };
}

/** Redelivery of a settled callback to an endpoint. */
export interface RedeliveryPlan {
  readonly name: string;
  readonly attempts: number;
}

/** Plan of a task. */
export interface TaskPlan {
  readonly id: string;
  readonly owner: Owner;
  /** Endpoint that the task names; null when it names no receiver. */
  readonly endpoint: string | null;
  readonly credits: number | null;
  readonly isProcessing: boolean;
  readonly end: "completed" | "failed";
  readonly orders: readonly RedeliveryPlan[];
  readonly pausesMs: readonly [number, number];
}

/** Returns the plan of a task, which depends on the seed and its number alone. */
export function taskPlan(seed: number, nth: number): TaskPlan {
  const random = new Random(seed * 1_000_003 + nth);
  const owner = random.pick(OWNERS);
  const name = random.isLucky(0.06) ? NEVER : random.pick(NAMES);
  return {
    id: `${hex(seed, 8)}-0000-4000-8000-${hex(nth, 12)}`,
    owner,
    endpoint: name === DEFAULT && random.isLucky(0.7) ? null : name,
    credits: owner === null ? null : 1 + random.below(9),
    isProcessing: random.isLucky(0.8),
    end: random.isLucky(0.6) ? "completed" : "failed",
    orders: Array.from({ length: random.isLucky(0.4) ? 1 + random.below(2) : 0 }, () => ({
      name: random.isLucky(0.2) ? NEVER : random.pick(NAMES),
      attempts: 1 + random.below(2),
    })),
    pausesMs: [random.next() * MAX_TASK_PAUSE_MS, random.next() * MAX_TASK_PAUSE_MS],
  };
}

function hex(value: number, digits: number): string {
  return (value % 16 ** digits).toString(16).padStart(digits, "0");
}

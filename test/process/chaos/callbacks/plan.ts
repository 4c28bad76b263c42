import type { Behaviour } from "../../harness/receiver.ts";
import { seeded } from "../../../simulation/random.ts";

/**
 * A hook of a job. Only the `genuine` hook ends the task. A progress report and a forged hook come before it;
 * the same end and another end follow it.
 */
export type Hook = (typeof HOOKS)[number];
const HOOKS = ["progress", "forged", "genuine", "repeated", "contradicting"] as const;

/** The way in which a task ends; `result` is the end in the form of `resultOf`. */
export type Ending =
  | { readonly via: "event"; readonly result: string; readonly report: object }
  | { readonly via: "cancel"; readonly result: string }
  | { readonly via: "deadline"; readonly result: string }
  | {
      readonly via: "hook";
      readonly result: string;
      readonly state: "completed" | "failed";
      /** Hooks in the order in which they are sent; without hooks the relay has to poll. */
      readonly hooks: readonly Hook[];
    };

/** An ending that a caller can request. */
export type RequestedEnding = Extract<Ending, { via: "event" | "cancel" }>;

/** Plan of what happens to one task. */
export interface TaskPlan {
  readonly nth: number;
  /** Path at the receiver, unique to the task. */
  readonly path: string;
  readonly id: string;
  /** States that the registration has an `Idempotency-Key` instead of the id. */
  readonly isNamedByKey: boolean;
  readonly createdBy: "event" | "registration" | "upstream";
  /** States that the connection has an API key, so that the relay can poll. */
  readonly isKeyed: boolean;
  readonly accountId: string | null;
  readonly credits: number | null;
  /** Number of credits that the account is granted, with `path` as the reference. */
  readonly grant: number;
  /** The way in which the task ends; null leaves the task open. */
  readonly ending: Ending | null;
  /** Another ending that contradicts the first, requested at the same moment (`isRace`) or afterwards. */
  readonly rival: { readonly ending: RequestedEnding; readonly isRace: boolean } | null;
  readonly isProcessing: boolean;
  readonly repeats: number;
  readonly reads: number;
  /** Number of attempts of each redelivery that is ordered. */
  readonly orders: readonly number[];
  readonly isErased: boolean;
  /** Target of the callback; `closed` is a port without a listener, `none` means no callback. */
  readonly target: "receiver" | "closed" | "none";
  readonly answers: readonly Behaviour[];
  readonly pausesMs: readonly [number, number];
}

/** Accounts of the tasks: one that can always pay, and one that often cannot. */
export const ACCOUNTS = [
  { id: "rich", grant: 10_000_000 },
  { id: "poor", grant: 20 },
] as const;

/** Origin of all outputs. A relay with a bucket keeps no copies of them, because its host is an IP address. */
const OUTPUTS = "https://192.0.2.1";
const MAX_PRICE = 9;
const MAX_PAUSE_MS = 800;
/**
 * Largest number of requests for one callback: the automatic attempts and three redeliveries, of three
 * attempts each.
 */
const MAX_POSTS = 12;
const CANCEL = { via: "cancel", result: "failed canceled" } as const;

type Random = () => number;
type Shares<T> = readonly (readonly [share: number, value: T])[];

const CREATED_BY: Shares<"event" | "upstream"> = [
  [0.35, "event"],
  [0.12, "upstream"],
];
const TARGETS: Shares<"none" | "closed"> = [
  [0.08, "none"],
  [0.04, "closed"],
];
const REPEATS: Shares<number> = [
  [0.2, 1],
  [0.05, 2],
];

/** Returns the plan of the task number `nth` of a run, which depends only on the seed and this number. */
export function planOf(seed: number, nth: number): TaskPlan {
  const random = seeded(seed * 1_000_003 + nth);
  const happens = (share: number) => random() < share;
  const some = (least: number, limit: number) => least + Math.floor(random() * limit);
  const createdBy = drawn(random, CREATED_BY, "registration");
  const ending = endingOf(random, nth, createdBy);
  const target = drawn(random, TARGETS, "receiver");
  const mayBeOrdered = target !== "none" && ending !== null && ending.via !== "hook";
  return {
    nth,
    path: `/${nth}`,
    id: [hex(seed % 2 ** 32, 8), "0000-4000-8000", hex(nth, 12)].join("-"),
    isNamedByKey: happens(0.2),
    createdBy,
    isKeyed: true,
    ...pricesOf(random, createdBy),
    ending,
    rival: rivalOf(random, nth, createdBy, ending),
    isProcessing: happens(0.2),
    repeats: drawn(random, REPEATS, 0),
    reads: drawn(random, REPEATS, 0),
    orders: happens(mayBeOrdered ? 0.15 : 0)
      ? Array.from({ length: some(1, 3) }, () => some(1, 3))
      : [],
    isErased: happens(0.03),
    target,
    answers: Array.from({ length: MAX_POSTS }, () => answerOf(random)),
    pausesMs: [random() * MAX_PAUSE_MS, random() * MAX_PAUSE_MS],
  };
}

/** Returns the URL of the output of the upstream's job. */
export function jobUrl(nth: number): string {
  return `${OUTPUTS}/${nth}/job.mp4`;
}

function pricesOf(random: Random, createdBy: TaskPlan["createdBy"]) {
  const account = ACCOUNTS[random() < 0.25 ? 1 : 0].id;
  const isPriced = random() < 0.75 && createdBy !== "event";
  const hasAccount = random() < 0.2 || isPriced;
  const isGranted = random() < 0.15 && hasAccount && account === "poor";
  const [price = 1, grant = 1] = [random(), random()].map((part) => {
    return 1 + Math.floor(part * MAX_PRICE);
  });
  return {
    accountId: hasAccount ? account : null,
    credits: isPriced ? price : null,
    grant: isGranted ? grant : 0,
  };
}

function endingOf(random: Random, nth: number, createdBy: TaskPlan["createdBy"]): Ending | null {
  if (createdBy === "upstream") {
    const isLost = random() < 0.3;
    const hooks = HOOKS.filter((hook) => random() < (hook === "genuine" ? 1 : 0.3) && !isLost);
    return random() < 0.6
      ? { via: "hook", state: "completed", result: `completed ${jobUrl(nth)}`, hooks }
      : { via: "hook", state: "failed", result: "failed upstream_error", hooks };
  }
  const reported = random() < 0.5 ? success(nth, "first") : failure("nsfw");
  if (createdBy === "event") return reported;
  const others: Shares<Ending | null> = [
    [0.2, CANCEL],
    [0.08, { via: "deadline", result: "failed upstream_timeout" }],
    [0.05, null],
  ];
  return drawn(random, others, reported);
}

function rivalOf(
  random: Random,
  nth: number,
  createdBy: TaskPlan["createdBy"],
  ending: Ending | null,
): TaskPlan["rival"] {
  const isRace = random() < 0.6;
  const isWanted = random() < (ending?.via === "deadline" ? 0.5 : 0.15);
  const isEvent = random() < 0.6 || createdBy === "event" || ending?.via === "cancel";
  const contradiction = random() < 0.5 ? success(nth, "second") : failure("other_reason");
  if (!isWanted || ending === null || ending.via === "hook") return null;
  return { ending: isEvent ? contradiction : CANCEL, isRace };
}

function success(nth: number, take: string): RequestedEnding {
  const url = `${OUTPUTS}/${nth}/${take}.mp4`;
  const output = { urls: [url], metadata: { seed: nth, duration: 5, take } };
  return { via: "event", result: `completed ${url}`, report: { status: "completed", output } };
}

function failure(code: string): RequestedEnding {
  const error = { code, message: "The upstream refused the prompt." };
  return { via: "event", result: `failed ${code}`, report: { status: "failed", error } };
}

function answerOf(random: Random): Behaviour {
  const afterMs = random() < 0.5 ? random() * 50 : 50 + random() * 1350;
  const status = (code: number): Behaviour => ({ kind: "answer", status: code, afterMs });
  const others: Shares<Behaviour> = [
    [0.26, status(500)],
    [0.04, status(410)],
    [0.06, { kind: "answer", status: 302, afterMs, headers: { Location: "/followed" } }],
    [0.06, { kind: "hang" }],
    [0.08, { kind: "close" }],
    [0.1, status(204)],
  ];
  return drawn(random, others, status(200));
}

/** Draws one of the values by their shares; `otherwise` has the remaining share. */
function drawn<T, U>(random: Random, shares: Shares<T>, otherwise: U): T | U {
  let left = random();
  for (const [share, value] of shares) {
    left -= share;
    if (left < 0) return value;
  }
  return otherwise;
}

function hex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, "0");
}

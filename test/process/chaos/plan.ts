import type { Behaviour } from "../harness/receiver.ts";
import { seeded } from "../harness/seeded.ts";

/** Somebody who ends a task, or the deadline; `result` is what the task then says, as `resultOf` reads it. */
export type Word =
  | { readonly via: "event"; readonly result: string; readonly report: object }
  | { readonly via: "cancel"; readonly result: string }
  | { readonly via: "deadline"; readonly result: string }
  /** The upstream's own hook; where it is lost the upstream has to be asked. */
  | {
      readonly via: "hook";
      readonly result: string;
      readonly state: "completed" | "failed";
      readonly isLost: boolean;
    };

/** What contradicts the first word, at the same moment or after it. */
export interface Rival {
  readonly word: Word & { readonly via: "event" | "cancel" };
  readonly isRace: boolean;
}

/** What is to happen to one task. */
export interface LifePlan {
  readonly nth: number;
  /** Path at the receiver, and whatever else has to be unique. */
  readonly path: string;
  readonly id: string;
  /** Whether the id is left to an `Idempotency-Key`. */
  readonly isNamedByKey: boolean;
  readonly birth: "event" | "registration" | "upstream";
  readonly accountId: string | null;
  readonly credits: number | null;
  /** Credits that the account is given meanwhile, under `path`. */
  readonly grant: number;
  /** Null: the task stays open. */
  readonly word: Word | null;
  readonly rival: Rival | null;
  readonly isProcessing: boolean;
  readonly repeats: number;
  readonly reads: number;
  /** Attempts of each order to redeliver. */
  readonly orders: readonly number[];
  readonly isErased: boolean;
  /** `dead`: a port where nobody listens. */
  readonly target: "receiver" | "dead" | "none";
  readonly answers: readonly Behaviour[];
  readonly pausesMs: readonly [number, number];
}

/** One that can always pay, and one that often cannot. */
export const TENANTS = [
  { id: "rich", grant: 10_000_000 },
  { id: "poor", grant: 60 },
] as const;

const MAX_PRICE = 9;
const MAX_PAUSE_MS = 800;
/** As many POSTs as one task can be owed: series 1 and three orders of three. */
const MAX_POSTS = 12;

type Random = () => number;

/** The nth task of a run: the same for the same seed, whatever became of the tasks before it. */
export function planOf(seed: number, nth: number): LifePlan {
  const random = seeded(seed * 1_000_003 + nth);
  const happens = (share: number) => random() < share;
  const some = (least: number, limit: number) => least + Math.floor(random() * limit);
  const birth = drawn(random, BIRTHS, "registration");
  const isUpstream = birth === "upstream";
  const word = isUpstream ? hook(random, nth) : aWord(random, nth, birth);
  const target = drawn(random, TARGETS, "receiver");
  const mayBeOrdered = target !== "none" && word !== null && word.via !== "hook";
  return {
    nth,
    path: `/${nth}`,
    id: [hex(seed % 2 ** 32, 8), "0000-4000-8000", hex(nth, 12)].join("-"),
    isNamedByKey: happens(0.2),
    birth,
    ...pricesOf(random, birth),
    word,
    rival: rivalOf(random, nth, birth, word),
    isProcessing: happens(0.2),
    repeats: drawn(random, REPEATS, 0),
    reads: drawn(random, REPEATS, 0),
    orders: happens(mayBeOrdered ? 0.15 : 0)
      ? Array.from({ length: some(1, 3) }, () => some(1, 3))
      : [],
    isErased: happens(0.03),
    target,
    answers: Array.from({ length: MAX_POSTS }, () => anAnswer(random)),
    pausesMs: [random() * MAX_PAUSE_MS, random() * MAX_PAUSE_MS],
  };
}

const BIRTHS = [
  [0.35, "event"],
  [0.12, "upstream"],
] as const;
const TARGETS = [
  [0.08, "none"],
  [0.04, "dead"],
] as const;
const REPEATS = [
  [0.2, 1],
  [0.05, 2],
] as const;

function pricesOf(random: Random, birth: LifePlan["birth"]) {
  const tenant = TENANTS[random() < 0.25 ? 1 : 0].id;
  const isPriced = random() < 0.75 && birth !== "event";
  const hasAccount = random() < 0.2 || isPriced;
  const isGiven = random() < 0.15 && hasAccount && tenant === "poor";
  const [price, gift] = [random(), random()].map((part) => 1 + Math.floor(part * MAX_PRICE));
  return {
    accountId: hasAccount ? tenant : null,
    credits: isPriced ? (price ?? 1) : null,
    grant: isGiven ? (gift ?? 1) : 0,
  };
}

function hex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, "0");
}

function aWord(random: Random, nth: number, birth: "event" | "registration"): Word | null {
  const reported = random() < 0.5 ? success(nth, "first") : failure("nsfw");
  if (birth === "event") return reported;
  return drawn<Word | null, Word | null>(
    random,
    [
      [0.2, CANCEL],
      [0.08, { via: "deadline", result: "failed upstream_timeout" }],
      [0.05, null],
    ],
    reported,
  );
}

function hook(random: Random, nth: number): Word {
  const isLost = random() < 0.3;
  return random() < 0.6
    ? { via: "hook", state: "completed", result: `completed ${jobUrl(nth)}`, isLost }
    : { via: "hook", state: "failed", result: "failed upstream_error", isLost };
}

function rivalOf(
  random: Random,
  nth: number,
  birth: LifePlan["birth"],
  word: Word | null,
): Rival | null {
  const isRace = random() < 0.6;
  const isWanted = random() < (word?.via === "deadline" ? 0.5 : 0.15);
  const isEvent = random() < 0.6 || birth === "event" || word?.via === "cancel";
  const contradiction = random() < 0.5 ? success(nth, "second") : failure("other_reason");
  if (!isWanted || word === null || word.via === "hook") return null;
  return { word: isEvent ? contradiction : CANCEL, isRace };
}

const CANCEL = { via: "cancel", result: "failed canceled" } as const;

function success(nth: number, take: string): Word & { readonly via: "event" } {
  const url = `https://cdn.example.com/${nth}/${take}.mp4`;
  const output = { urls: [url], metadata: { seed: nth, duration: 5, take } };
  return { via: "event", result: `completed ${url}`, report: { status: "completed", output } };
}

function failure(code: string): Word & { readonly via: "event" } {
  const error = { code, message: "The upstream refused the prompt." };
  return { via: "event", result: `failed ${code}`, report: { status: "failed", error } };
}

/** Output of the job of a task that has one. */
export function jobUrl(nth: number): string {
  return `https://cdn.example.com/${nth}/job.mp4`;
}

function anAnswer(random: Random): Behaviour {
  const afterMs = random() < 0.5 ? random() * 50 : 50 + random() * 1350;
  const status = (code: number): Behaviour => ({ kind: "answer", status: code, afterMs });
  const headers = { Location: "/followed" };
  return drawn<Behaviour, Behaviour>(
    random,
    [
      [0.26, status(500)],
      [0.04, status(410)],
      [0.06, { kind: "answer", status: 302, afterMs, headers }],
      [0.06, { kind: "hang" }],
      [0.08, { kind: "close" }],
      [0.1, status(204)],
    ],
    status(200),
  );
}

/** One of the values, each with its share; what the shares leave over is `otherwise`. */
function drawn<T, U>(
  random: Random,
  shares: readonly (readonly [number, T])[],
  otherwise: U,
): T | U {
  let left = random();
  for (const [share, value] of shares) {
    left -= share;
    if (left < 0) return value;
  }
  return otherwise;
}

import { type Behaviour, type Receiver } from "../harness/receiver.ts";
import { seeded } from "../harness/seeded.ts";

export const TASKS = 1_000;
/** Periods, each under one release: an earlier one when even, the current one when odd. */
export const PERIODS = 6;
export const TENANTS = ["acme", "globex"] as const;

export type Birth = "event" | "registration" | "provider";
export type End = "completed" | "failed" | "canceled" | "upstream_timeout" | "open";

/** What is to happen to one task, and in which period, so far as the relay lets it. */
export interface UpgradeLife {
  readonly id: string;
  readonly birth: Birth;
  readonly bornIn: number;
  /** Said to be processing before it ends; null: never. */
  readonly processingIn: number | null;
  readonly end: End;
  readonly endsIn: number;
  /** When the opposite result is reported too. */
  readonly contradictedIn: number;
  /** Whether its provider's own hook tells the end, rather than an event. */
  readonly isHooked: boolean;
  readonly accountId: string | null;
  /** 0: it costs nothing. */
  readonly credits: number;
  readonly callbackUrl: string | null;
  readonly isRedelivered: boolean;
}

const ENDS: readonly End[] = [
  ...Array<End>(9).fill("completed"),
  ...Array<End>(6).fill("failed"),
  ...Array<End>(2).fill("canceled"),
  "upstream_timeout",
  "open",
];

const EVENTS: readonly End[] = ["completed", "completed", "failed"];
/** A failure that a hook tells has a category that the earliest release cannot read. */
const SUCCESS: readonly End[] = ["completed"];
const BIRTHS: readonly Birth[] = [...Array<Birth>(4).fill("registration"), "event", "provider"];

/** The same tasks for the same seed: most of them stay open over several changes of the release. */
export function upgradeLives(seed: number, receiver: Receiver): UpgradeLife[] {
  const random = seeded(seed);
  return Array.from({ length: TASKS }, (_, i) => {
    const id = `00000000-0000-4000-8000-${String(i).padStart(12, "0")}`;
    return aLife(id, random, receiver.at(`/${id}`, ...behavioursOf(random)));
  });
}

function aLife(id: string, random: () => number, url: string): UpgradeLife {
  const pick = (below: number) => Math.floor(random() * below);
  const birth = BIRTHS[pick(BIRTHS.length)] ?? "event";
  const accountId = pick(2) === 0 ? null : (TENANTS[pick(TENANTS.length)] ?? null);
  const isPriced = birth === "registration" && accountId !== null;
  const ends = { registration: ENDS, provider: SUCCESS, event: EVENTS }[birth];
  return {
    id,
    birth,
    ...timesOf(birth, pick),
    end: ends[pick(ends.length)] ?? "open",
    accountId,
    credits: isPriced ? 1 + pick(9) : 0,
    callbackUrl: pick(8) === 0 ? null : url,
    isRedelivered: pick(10) === 0,
  };
}

function timesOf(birth: Birth, pick: (below: number) => number) {
  const later = (than: number) => than + pick(PERIODS - than);
  const bornIn = { registration: 0, provider: 1, event: pick(PERIODS) }[birth];
  const processingIn = birth !== "provider" && pick(3) === 0 ? later(bornIn) : null;
  const isHooked = birth === "provider" && pick(2) === 0;
  const endsIn = later(processingIn ?? bornIn);
  return { bornIn, processingIn, isHooked, endsIn, contradictedIn: later(endsIn) };
}

/** Fails none, one, two or all three times, now and then without a word. */
function behavioursOf(random: () => number): Behaviour[] {
  const failures = Math.floor(random() * 4);
  return [0, 1, 2].map((i): Behaviour => {
    const afterMs = 20 + random() * 600;
    if (i >= failures) return { kind: "answer", status: 200, afterMs };
    return random() < 0.1 ? { kind: "hang" } : { kind: "answer", status: 500, afterMs };
  });
}

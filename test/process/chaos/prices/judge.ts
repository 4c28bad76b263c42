import type { Entry } from "../ledger.ts";
import type { Plant, PlantedFault } from "../planting.ts";
import { monthStart } from "../../../../src/core/time.ts";
import { HOLD, MONTHLY_LIMIT } from "./priced-jobs.ts";

/** What a task must have cost by the log of its upstream. */
export interface Expected {
  readonly taskId: string;
  /** Credits that were charged at first. */
  readonly hold: number;
  readonly cost: number;
}

/** What a run has recorded. */
export interface Recording {
  readonly entries: readonly Entry[];
  readonly expected: readonly Expected[];
  /** Credits that the accounts have paid, by their balances. */
  readonly earned: number;
  /** Credits that these accounts have spent, by their reports of days and models. */
  readonly reported: number;
  /** Entries of the account with a monthly limit, oldest first. */
  readonly limited: readonly Entry[];
  /** What that account has spent in the month of its newest entry, as it shows itself. */
  readonly spentThisMonth: number;
}

/** Lists what in a recording contradicts the promise about charges. */
export function faultsIn(recording: Recording): readonly string[] {
  const { entries, expected, earned, reported, limited, spentThisMonth } = recording;
  return [
    ...wrongBookings(expected, entries),
    ...wrongCosts(expected, entries, earned),
    ...(reported === earned ? [] : [`the report has ${reported} instead of ${earned}`]),
    ...limitFaults(limited, spentThisMonth),
  ];
}

/** Returns the begin of the month in which an entry was booked, in Unix milliseconds. */
function monthOf({ created_at: at }: Entry): number {
  return monthStart(at * 1000);
}

/** Finds charges that make a month cost more than its limit, and a sum of the month that differs from the entries. */
function limitFaults(entries: readonly Entry[], spentThisMonth: number): readonly string[] {
  const monthOfCharge = new Map<string, number>();
  const spent = new Map<number, number>();
  const faults: string[] = [];
  for (const entry of entries) {
    const { kind, reference, amount } = entry;
    if (kind === "charge") monthOfCharge.set(reference, monthOf(entry));
    const month = monthOfCharge.get(reference);
    if (month === undefined) continue;
    const sum = (spent.get(month) ?? 0) + (kind === "charge" ? amount : -amount);
    spent.set(month, sum);
    if (sum > MONTHLY_LIMIT) faults.push(`above the limit: ${JSON.stringify(entry)}`);
  }
  const [newest] = entries.slice(-1);
  const last = newest === undefined ? 0 : (spent.get(monthOf(newest)) ?? 0);
  return last === spentThisMonth
    ? faults
    : [...faults, `the month has ${spentThisMonth} instead of ${last}`];
}

/** Finds charges that were given back twice, by more than was charged, or without a charge. */
function wrongBookings(
  expected: readonly Expected[],
  entries: readonly Entry[],
): readonly string[] {
  const holds = new Map(expected.map(({ taskId, hold }) => [taskId, hold]));
  const booked = entries.filter(({ kind }) => kind !== "grant");
  return Object.entries(Object.groupBy(booked, ({ reference }) => reference)).flatMap(
    ([reference, own = []]) => {
      const [first, ...others] = own;
      const hold = holds.get(first?.task_id ?? "") ?? 0;
      const isCharged = first?.kind === "charge" && first.amount === hold;
      const isBack = others.every(
        ({ kind, amount }) =>
          (kind === "release" && amount > 0 && amount <= hold) ||
          (kind === "refund" && amount === hold),
      );
      const isRight = isCharged && isBack && others.length <= 1;
      return isRight ? [] : [`booked under ${reference}: ${JSON.stringify(own)}`];
    },
  );
}

/** Lists the tasks that have not cost what the logs of the upstreams say, and a balance that differs from their sum. */
function wrongCosts(
  expected: readonly Expected[],
  entries: readonly Entry[],
  earned: number,
): readonly string[] {
  const costs = costsIn(entries);
  const wrong = expected.flatMap(({ taskId, cost }) => {
    const found = costs.get(taskId);
    return found === cost ? [] : [`${taskId}: costs ${found} instead of ${cost}`];
  });
  const sum = expected.reduce((total, { cost }) => total + cost, 0);
  return sum === earned ? wrong : [...wrong, `the account has paid ${earned} instead of ${sum}`];
}

/** Sums what each task has cost by the ledger, by the id of the task. */
function costsIn(entries: readonly Entry[]): ReadonlyMap<string, number> {
  const costs = new Map<string, number>();
  for (const { kind, amount, task_id: id } of entries) {
    if (id === undefined) continue;
    costs.set(id, (costs.get(id) ?? 0) + (kind === "charge" ? amount : -amount));
  }
  return costs;
}

/** Changes the entries of a recording at its first release. */
const atRelease =
  (
    change: (entries: readonly Entry[], at: number, release: Entry) => readonly Entry[],
  ): Plant<Recording> =>
  ({ entries, ...recording }) => {
    const at = entries.findIndex(({ kind }) => kind === "release");
    const release = entries[at];
    return release === undefined ? null : { ...recording, entries: change(entries, at, release) };
  };

export const PLANTED_FAULTS: readonly PlantedFault<Recording>[] = [
  {
    what: "a release that was booked twice",
    fault: "booked under",
    plant: atRelease((entries, _, release) => [...entries, release]),
  },
  {
    what: "a release that was not booked",
    fault: ": costs ",
    plant: atRelease((entries, at) => entries.toSpliced(at, 1)),
  },
  {
    what: "a release of a credit too many",
    fault: ": costs ",
    plant: atRelease((entries, at, release) =>
      entries.with(at, { ...release, amount: release.amount + 1 }),
    ),
  },
  {
    what: "a charge at the price of another version",
    fault: "booked under",
    plant: ({ entries, ...recording }) => {
      const at = entries.findIndex(({ kind, amount }) => kind === "charge" && amount !== HOLD);
      const charge = entries[at];
      if (charge === undefined) return null;
      return { ...recording, entries: entries.with(at, { ...charge, amount: charge.amount + 1 }) };
    },
  },
  {
    what: "a credit that was paid and not booked",
    fault: "the account has paid",
    plant: (recording) => ({ ...recording, earned: recording.earned + 1 }),
  },
  {
    what: "a charge that is missing in the report",
    fault: "the report has",
    plant: (recording) => ({ ...recording, reported: recording.reported - 1 }),
  },
  {
    what: "a refund that gave no room in its month",
    fault: "the month has",
    plant: (recording) => ({ ...recording, spentThisMonth: recording.spentThisMonth + 1 }),
  },
  {
    what: "a charge above the monthly limit",
    fault: "above the limit",
    plant: ({ limited, ...recording }) => {
      const at = limited.findIndex(({ kind }) => kind === "charge");
      const charge = limited[at];
      if (charge === undefined) return null;
      const amount = charge.amount + MONTHLY_LIMIT;
      return { ...recording, limited: limited.with(at, { ...charge, amount }) };
    },
  },
  {
    what: "a task without a charge",
    fault: ": costs undefined",
    plant: atRelease((entries, _, release) =>
      entries.filter(({ task_id: id }) => id !== release.task_id),
    ),
  },
];

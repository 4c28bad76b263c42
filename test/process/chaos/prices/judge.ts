import type { Entry } from "../ledger.ts";
import type { Plant, PlantedFault } from "../planting.ts";
import { HOLD } from "./priced-jobs.ts";

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
  /** Credits that the account has paid, by its balance. */
  readonly earned: number;
}

/** Lists what in a recording contradicts the promise about charges. */
export function faultsIn({ entries, expected, earned }: Recording): readonly string[] {
  return [...wrongBookings(expected, entries), ...wrongCosts(expected, entries, earned)];
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
    what: "a task without a charge",
    fault: ": costs undefined",
    plant: atRelease((entries, _, release) =>
      entries.filter(({ task_id: id }) => id !== release.task_id),
    ),
  },
];

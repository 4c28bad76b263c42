/** What charges cost, in credits, with the number of charges and of refunds. */
export interface Spend {
  readonly charged: number;
  readonly refunded: number;
  /** Credits that were given back because tasks cost less than was charged. */
  readonly released: number;
  readonly charges: number;
  readonly refunds: number;
}

/** What the charges of one day (UTC) cost. What was given back later counts on the day of its charge. */
export interface DaySpend extends Spend {
  /** Days since 1970-01-01 UTC. */
  readonly day: number;
  /** By how much entries of all kinds have changed the balance on this day, in credits. */
  readonly change: number;
}

export interface ModelSpend extends Spend {
  readonly model: string;
}

/** A day with the balance at its end, in credits. */
export interface DayReport extends Spend {
  readonly day: number;
  readonly balance: number;
}

const NOTHING: Spend = { charged: 0, refunded: 0, released: 0, charges: 0, refunds: 0 };
const NO_CHANGE = { ...NOTHING, change: 0 };

/** Returns what charges cost in the end, in credits. */
export function spentOf({ charged, refunded, released }: Spend): number {
  return charged - refunded - released;
}

/** Returns the sum of what several charges, days or models cost. */
export function sumOf(spends: readonly Spend[]): Spend {
  return spends.reduce<Spend>(
    (sum, each) => ({
      charged: sum.charged + each.charged,
      refunded: sum.refunded + each.refunded,
      released: sum.released + each.released,
      charges: sum.charges + each.charges,
      refunds: sum.refunds + each.refunds,
    }),
    NOTHING,
  );
}

/**
 * Returns all days from `since` until before `until`, oldest first, each with the balance at its end, which is what
 * later days have made the present balance of.
 * @param balance present balance, in credits.
 * @param days the days from `since` until today that have entries.
 */
export function reportDays(
  balance: number,
  days: readonly DaySpend[],
  { since, until }: { readonly since: number; readonly until: number },
): readonly DayReport[] {
  const byDay = new Map(days.map((each) => [each.day, each]));
  const later = days.filter(({ day }) => day >= until);
  let left = later.reduce((rest, { change }) => rest - change, balance);
  const reports: DayReport[] = [];
  for (let day = until - 1; day >= since; day--) {
    const { change, ...spend } = byDay.get(day) ?? NO_CHANGE;
    reports.push({ ...spend, day, balance: left });
    left -= change;
  }
  return reports.toReversed();
}

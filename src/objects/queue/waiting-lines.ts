import { compareRows, type QueueRow } from "./queue-row.ts";

type Account = QueueRow["account"];

/** The line of an account: how many of its submissions wait, and since when (Unix milliseconds) the first has waited. */
interface AccountLine {
  readonly account: Account;
  readonly waiting: number;
  readonly oldestSince: number;
}

/** Returns how many places an account has. */
export type PlacesOf = (account: Account) => number;

/**
 * The submissions that wait for a place of a connection, in a line for each account. The next place goes to the account
 * with the fewest places, and among those to the submission that has waited longest.
 */
export class WaitingLines {
  readonly #lines = new Map<Account, QueueRow[]>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(row: QueueRow): void {
    const line = this.#lines.get(row.account) ?? [];
    this.#lines.set(row.account, line);
    line.splice(indexIn(line, row), 0, row);
    this.#size++;
  }

  /** Removes a submission that is in the lines. */
  remove(row: QueueRow): void {
    const line = this.#lines.get(row.account) ?? [];
    line.splice(indexIn(line, row), 1);
    if (line.length === 0) this.#lines.delete(row.account);
    this.#size--;
  }

  /** Returns the submission that gets the next place; null when no waiting submission may take it. */
  next(placesOf: PlacesOf, mayTake: (row: QueueRow) => boolean): QueueRow | null {
    let best: { readonly row: QueueRow; readonly places: number } | null = null;
    for (const [account, line] of this.#lines) {
      const row = line.find(mayTake);
      if (row === undefined) continue;
      const places = placesOf(account);
      const order = best === null ? -1 : places - best.places || compareRows(row, best.row);
      if (order < 0) best = { row, places };
    }
    return best?.row ?? null;
  }

  /**
   * Returns the position of a waiting submission in the order in which places are granted; 1 is the next. An account
   * that has `n` places gets its `k`-th further one when it has `n + k - 1`, so the order is by this number.
   */
  position(row: QueueRow, placesOf: PlacesOf): number {
    const own = indexIn(this.#lines.get(row.account) ?? [], row);
    const places = placesOf(row.account) + own;
    let before = own;
    for (const [account, line] of this.#lines) {
      if (account === row.account) continue;
      const fewer = places - placesOf(account);
      before += Math.min(Math.max(fewer, 0), line.length);
      const rival = line[fewer];
      if (rival !== undefined && compareRows(rival, row) < 0) before++;
    }
    return before + 1;
  }

  /** Returns the time since which the first submission has waited. Null when none waits. */
  oldestSince(): number | null {
    const heads = Array.from(this.#lines.values(), ([head]) => head?.since ?? Infinity);
    return heads.length === 0 ? null : heads.reduce((least, since) => Math.min(least, since));
  }

  /** Returns how many submissions of each account wait, and since when the first of them has waited. */
  byAccount(): readonly AccountLine[] {
    return Array.from(this.#lines).flatMap(([account, line]) => {
      const [head] = line;
      return head === undefined ? [] : { account, waiting: line.length, oldestSince: head.since };
    });
  }
}

/** Returns the index at which a submission stands in the line of its account, or would stand. */
function indexIn(line: readonly QueueRow[], row: QueueRow): number {
  let [low, high] = [0, line.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    const other = line[middle];
    if (other !== undefined && compareRows(other, row) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

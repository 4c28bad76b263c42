import type { DaySpend, ModelSpend } from "../../core/spend.ts";
import { DAY_MS } from "../../core/time.ts";
import type { SqlRow } from "../sql-row.ts";

const COUNTED_KEY = "spend_counted";
/** Largest number of entries that one call counts, so that other calls to the object do not have to wait long. */
const COUNT_AT_ONCE = 5_000;

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS spend (
    day INTEGER NOT NULL,
    model TEXT NOT NULL,
    charged INTEGER NOT NULL,
    refunded INTEGER NOT NULL,
    released INTEGER NOT NULL,
    charges INTEGER NOT NULL,
    refunds INTEGER NOT NULL,
    change INTEGER NOT NULL,
    PRIMARY KEY (day, model)
  ) STRICT, WITHOUT ROWID`;
/** SQL query for the number of the last of the next `?2` entries after the entry `?1`. Null when there are none. */
const LAST_OF_NEXT =
  "SELECT max(seq) AS seq FROM (SELECT seq FROM entries WHERE seq > ?1 ORDER BY seq LIMIT ?2)";
/**
 * SQL statement that counts the entries after the entry `?1` up to the entry `?2`. The first query counts changes of the
 * balance, on the day of the entry; the second one counts what charges cost, on the day of the charge, under its model.
 */
const COUNT = `
  INSERT INTO spend (day, model, charged, refunded, released, charges, refunds, change)
  SELECT day, model, sum(charged), sum(refunded), sum(released), sum(charges), sum(refunds), sum(change)
  FROM (
    SELECT created_at / ${DAY_MS} AS day, '' AS model, 0 AS charged, 0 AS refunded, 0 AS released,
      0 AS charges, 0 AS refunds,
      CASE kind WHEN 'charge' THEN -amount WHEN 'opening' THEN 0 ELSE amount END AS change
    FROM entries WHERE seq > ?1 AND seq <= ?2
    UNION ALL
    SELECT charge.created_at / ${DAY_MS}, charge.model,
      iif(entry.kind = 'charge', entry.amount, 0), iif(entry.kind = 'refund', entry.amount, 0),
      iif(entry.kind = 'release', entry.amount, 0), entry.kind = 'charge', entry.kind = 'refund', 0
    FROM entries AS entry
    JOIN entries AS charge ON charge.kind = 'charge' AND charge.reference = entry.reference
    WHERE entry.seq > ?1 AND entry.seq <= ?2 AND entry.kind IN ('charge', 'refund', 'release')
  )
  GROUP BY day, model
  ON CONFLICT (day, model) DO UPDATE SET charged = charged + excluded.charged,
    refunded = refunded + excluded.refunded, released = released + excluded.released,
    charges = charges + excluded.charges, refunds = refunds + excluded.refunds,
    change = change + excluded.change`;
const SUMS = `sum(charged) AS charged, sum(refunded) AS refunded, sum(released) AS released,
  sum(charges) AS charges, sum(refunds) AS refunds`;
const BY_DAY = `SELECT day, ${SUMS}, sum(change) AS change FROM spend WHERE day >= ? GROUP BY day ORDER BY day`;
const BY_MODEL = `
  SELECT model, ${SUMS} FROM spend WHERE day >= ? AND day < ? AND charges > 0
  GROUP BY model ORDER BY sum(charged - refunded - released) DESC, model LIMIT ?`;
const DELETE_BEFORE = "DELETE FROM spend WHERE day < ?";

/**
 * What an account has spent by day and by model: the table `spend` of the account's object. It is counted from the
 * ledger (entry-table.ts), in which a charge therefore costs no further row: the key `spend_counted` has the number of
 * the last entry that is counted. The first call of `count` creates the table.
 */
export class SpendTable {
  readonly #storage: DurableObjectStorage;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
  }

  /**
   * Counts entries that are not counted yet, at most `COUNT_AT_ONCE`.
   * @returns true when all entries are counted.
   */
  count(): boolean {
    const { kv, sql } = this.#storage;
    sql.exec(SCHEMA);
    const counted = kv.get<number>(COUNTED_KEY) ?? 0;
    const [next] = sql.exec<{ seq: number | null }>(LAST_OF_NEXT, counted, COUNT_AT_ONCE);
    const last = next?.seq ?? null;
    if (last === null) return true;
    sql.exec(COUNT, counted, last);
    kv.put(COUNTED_KEY, last);
    return last - counted < COUNT_AT_ONCE;
  }

  /** Returns the days from `since` on that have entries, oldest first. @param since days since 1970-01-01 UTC. */
  byDay(since: number): DaySpend[] {
    return this.#storage.sql.exec<SqlRow<DaySpend>>(BY_DAY, since).toArray();
  }

  /** Returns the models that have cost most from the day `since` until before the day `until`, at most `limit`. */
  byModel(since: number, until: number, limit: number): ModelSpend[] {
    return this.#storage.sql.exec<SqlRow<ModelSpend>>(BY_MODEL, since, until, limit).toArray();
  }

  /** Removes the days before a day. @param day days since 1970-01-01 UTC. */
  deleteBefore(day: number): void {
    this.#storage.sql.exec(SCHEMA);
    this.#storage.sql.exec(DELETE_BEFORE, day);
  }
}

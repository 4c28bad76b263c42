import { DAY_MS, HOUR_MS } from "../src/core/time.ts";

/** Retention of the rows in the benchmark, in milliseconds. */
export const KEPT_MS = 28 * DAY_MS;
/** Number of the newest rows, whose tasks are open; all other tasks are settled. */
const UNSETTLED = 5_000;

/** Inserts rows of the 28 days before `?4`; see `fillOver`. */
export const FILL = fillOver(KEPT_MS);
/** Inserts rows of the hour before `?4`; see `fillOver`. */
export const FILL_HOUR = fillOver(HOUR_MS);

/**
 * Returns the statement that inserts the rows from `?1` up to, but not including, `?2` of `?3` in all, counted from
 * 0, oldest first and spread evenly over the `spanMs` milliseconds before `?4`; `?5` is the seed. A fifth of the
 * tasks belongs to one account, the others to 500 accounts or to none. There are 20 models, 6 connections and about
 * 100 hosts, a few of which get most callbacks; 12 % of the tasks have no callback. Apart from the newest rows
 * (`UNSETTLED`), 5 % of the tasks failed, in 6 categories, and 2 % of the callbacks; a third of the results is found
 * by hooks, two thirds by polls, up to 30 s late. Rows reach the index up to 10 s late.
 */
function fillOver(spanMs: number): string {
  return `
  INSERT INTO index_rows (id, version, account, model, provider, status, callback, attempts, last_outcome,
    last_status_code, host, created_at, completed_at, finished_at, settled_at, first_attempt_ms,
    settled_ms, due_at, expires_at, outcomes, category, refunded, found_by, found_late_ms, indexed_at)
  WITH RECURSIVE
    -- Cast, because numbers are bound as REAL.
    number (i) AS (SELECT CAST(?1 AS INTEGER) UNION ALL SELECT i + 1 FROM number WHERE i + 1 < ?2),
    mixed AS (SELECT i, (i + CAST(?5 AS INTEGER)) * 2654435761 % 4294967296 AS x FROM number),
    drawn AS (
      SELECT i, x, CAST(?4 - ((?3 - i) * ${spanMs}) / ?3 AS INTEGER) AS at, ?3 - i <= ${UNSETTLED} AS is_new,
        (x / 65536 + x % 65536 * 40503) * 1664525 % 4294967296 / 4096 AS a,
        (x / 4096 + x % 4096 * 69069) * 22695477 % 4294967296 / 4096 AS b
      FROM mixed),
    task AS (
      SELECT *, b % 100 < 12 AS is_silent, a / 10 % 100 < 5 AS is_failed, b / 100 % 100 < 2 AS is_lost
      FROM drawn)
  SELECT
    printf('%08x-0000-4000-8000-%012x', x, i), at + 60000,
    CASE WHEN a % 10 < 2 THEN 'account-big' WHEN a % 10 < 6 THEN 'account-' || (b % 500) END,
    'model-' || (a / 1000 % 20), CASE WHEN b % 8 < 6 THEN 'connection-' || (b % 8) END,
    CASE WHEN is_new THEN iif(i % 2, 'pending', 'processing') ELSE iif(is_failed, 'failed', 'completed') END,
    CASE WHEN is_silent THEN NULL WHEN is_new THEN 'waiting' ELSE iif(is_lost, 'failed', 'delivered') END,
    iif(is_silent OR is_new, 0, iif(is_lost, 3, 1)),
    CASE WHEN is_silent OR is_new THEN NULL ELSE iif(is_lost, 'timeout', 'delivered') END,
    CASE WHEN NOT (is_silent OR is_new OR is_lost) THEN 200 END,
    CASE WHEN NOT is_silent THEN 'host-' || ((b / 10000 % 100) * (a / 8000 % 100) / 100) || '.example.com' END,
    at, CASE WHEN NOT (is_new OR is_failed) THEN at + 59000 END, iif(is_new, NULL, at + 59500),
    iif(is_new, NULL, at + 60000), CASE WHEN NOT (is_silent OR is_new) THEN b % 90 END,
    CASE WHEN NOT is_new THEN b % 4000 END, CASE WHEN is_new THEN at + ${3 * DAY_MS} END,
    CASE WHEN NOT is_new THEN at + 60000 + ${KEPT_MS} END,
    CASE WHEN is_silent OR is_new THEN '{}' ELSE iif(is_lost, '{"timeout":3}', '{"delivered":1}') END,
    CASE WHEN is_failed AND NOT is_new THEN 'category-' || (b % 6) END,
    iif(is_failed AND NOT is_new AND b % 2 = 0, 1, 0),
    CASE WHEN NOT (is_new OR is_failed) THEN iif(b % 3 = 0, 'hook', 'poll') END,
    CASE WHEN NOT (is_new OR is_failed) THEN (a % 1000) * (b % 300) / 10 END,
    at + 60000 + (a % 100) * (b % 100)
  FROM task`;
}

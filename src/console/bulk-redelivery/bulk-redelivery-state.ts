import type { BulkEffects } from "../../api/callbacks/bulk-redelivery.ts";
import { FILTER_NAMES } from "../tasks/task-parameters.ts";

/** Path of the page of a bulk redelivery. */
export const REDELIVERIES = "/redeliveries";
/** Largest number of tasks that are counted before a bulk redelivery of their callbacks. */
export const MAX_COUNTED = 10_000;
/** The numbers of callbacks that a bulk redelivery can send in one step. The viewer selects one of them. */
export const PACES = [10, 25, 50] as const;

const REASONS: Readonly<Record<string, string>> = {
  task_open: "have no result yet",
  series_running: "are being sent",
  no_callback: "have no callback URL",
  idempotency_key_reused: "were sent to another URL under the same key",
  unknown_task: "are erased",
  unreachable: "could not be reached; a further bulk redelivery reaches them",
};

/** Returns a text that says why tasks are skipped, e.g. `3 are being sent, 1 have no result yet`. */
export function reasonsText(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .map(([reason, count]) => `${count} ${REASONS[reason] ?? reason}`)
    .join(", ");
}

/**
 * State of a bulk redelivery, which redelivers the callbacks of many tasks page by page. The whole state is in the
 * URL of its page, so that a reload continues with it. The id is the `Idempotency-Key` of all its requests, so that
 * it sends no callback twice.
 */
export interface BulkRedelivery {
  readonly id: string;
  readonly pace: number;
  /** Number of tasks whose callbacks the bulk redelivery is to send, as counted before it began. */
  readonly total: number;
  readonly started: number;
  readonly skipped: Readonly<Record<string, number>>;
  /**
   * Cursor of the next page of tasks whose callbacks are to be sent. It is empty before the first page and after the
   * last page.
   */
  readonly cursor: string;
  readonly isDone: boolean;
  /**
   * Seconds to wait before the next callbacks are sent, because the relay has refused the last request for now, e.g.
   * by a rate limit. 0 means no wait.
   */
  readonly waitS: number;
}

const UUID = /^[0-9a-f-]{36}$/;
/** Pattern of one reason and the number of tasks that were skipped for it, e.g. `task_open:1`. */
const SKIPPED = /^(\w{1,32}):(\d{1,9})$/;
/** Largest number of characters of the parameter `skipped` that are read. */
const MAX_SKIPPED = 512;

/**
 * Reads the state of a bulk redelivery from the URL of its page or from its form. Null means that they contain none.
 */
export function readBulkRedelivery(search: URLSearchParams): BulkRedelivery | null {
  const id = search.get("run") ?? "";
  if (!UUID.test(id)) return null;
  const pace = numberOf(search.get("pace"));
  return {
    id,
    pace: PACES.find((each) => each === pace) ?? PACES[0],
    total: numberOf(search.get("total")),
    started: numberOf(search.get("started")),
    skipped: skippedIn(search.get("skipped") ?? ""),
    cursor: search.get("cursor") ?? "",
    isDone: search.has("done"),
    waitS: numberOf(search.get("wait")),
  };
}

/** Reads how many tasks were skipped for each reason, e.g. from `series_running:3,task_open:1`. */
function skippedIn(text: string): Readonly<Record<string, number>> {
  const counts = text.slice(0, MAX_SKIPPED).split(",");
  return Object.fromEntries(
    counts.flatMap((each) => {
      const [, reason, count] = SKIPPED.exec(each) ?? [];
      return reason === undefined ? [] : [[reason, Number(count)]];
    }),
  );
}

function numberOf(text: string | null): number {
  return /^\d{1,9}$/.test(text ?? "") ? Number(text) : 0;
}

/** Returns the state of a bulk redelivery and its filters as the query parameters of its page. */
export function bulkParameters(filters: URLSearchParams, bulk: BulkRedelivery): URLSearchParams {
  const skipped = Object.entries(bulk.skipped).map(([reason, count]) => `${reason}:${count}`);
  const values: Readonly<Record<string, string>> = {
    run: bulk.id,
    pace: String(bulk.pace),
    total: String(bulk.total),
    started: String(bulk.started),
    skipped: skipped.join(","),
    cursor: bulk.cursor,
    done: bulk.isDone ? "1" : "",
    wait: bulk.waitS === 0 ? "" : String(bulk.waitS),
  };
  const all = filtersIn(filters);
  for (const [name, value] of Object.entries(values)) if (value !== "") all.set(name, value);
  return all;
}

/** Returns only those of the parameters that are filters of a list of tasks. */
export function filtersIn(search: URLSearchParams): URLSearchParams {
  const filters = new URLSearchParams();
  for (const name of FILTER_NAMES) {
    const value = search.get(name);
    if (value !== null) filters.set(name, value);
  }
  return filters;
}

/**
 * Returns the state of a bulk redelivery that has not begun.
 * @param total number of tasks whose callbacks it is to send.
 */
export function newBulkRedelivery(id: string, total: number): BulkRedelivery {
  const nothing = { started: 0, skipped: {}, cursor: "", isDone: false, waitS: 0 };
  return { id, pace: PACES[0], total, ...nothing };
}

/**
 * Returns the state of a bulk redelivery after one of its steps. Callbacks that the relay reports as already ordered
 * are counted as sent: this same step has ordered them, but its answer did not reach the browser, which therefore
 * submitted the step again.
 */
export function advanced(bulk: BulkRedelivery, page: BulkEffects): BulkRedelivery {
  const { already_ordered: repeated = 0, ...reasons } = page.skipped_because;
  const skipped = { ...bulk.skipped };
  for (const [reason, count] of Object.entries(reasons)) {
    skipped[reason] = (skipped[reason] ?? 0) + count;
  }
  return {
    ...bulk,
    started: bulk.started + page.started + repeated,
    skipped,
    waitS: 0,
    cursor: page.next_cursor ?? "",
    isDone: page.next_cursor === null,
  };
}

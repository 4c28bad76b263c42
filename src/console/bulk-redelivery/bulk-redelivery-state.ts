import type { BulkEffects } from "../../api/callbacks/bulk-redelivery.ts";
import { FILTER_NAMES } from "../tasks/task-parameters.ts";

/** Path of the page of a bulk redelivery. */
export const REDELIVERIES = "/redeliveries";
/** Tasks are counted up to this number before a bulk redelivery of their callbacks. */
export const MAX_COUNTED = 10_000;
/** Numbers of callbacks that a bulk redelivery can send in one step, of which the viewer selects one. */
export const PACES = [10, 25, 50] as const;

const REASONS: Readonly<Record<string, string>> = {
  task_open: "have no result yet",
  series_running: "are being sent",
  no_callback: "have no callback URL",
  idempotency_key_reused: "were sent to another URL under the same key",
  unknown_task: "are erased",
  unreachable: "could not be reached; a further bulk redelivery reaches them",
};

/**
 * Returns a text that says why tasks are skipped, with the number for each reason, e.g. `3 are being sent, 1 have no
 * result yet`.
 */
export function reasonsText(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .map(([reason, count]) => `${count} ${REASONS[reason] ?? reason}`)
    .join(", ");
}

/**
 * State of a bulk redelivery, which redelivers the callbacks of many tasks page by page. All of it is in the URL of the
 * redelivery's page, so that a reload goes on with it. Its id is the `Idempotency-Key` of all its requests, so that no
 * callback is sent twice.
 */
export interface BulkRedelivery {
  readonly id: string;
  readonly pace: number;
  /** Number of tasks whose callbacks the bulk redelivery is to send, as counted before it began. */
  readonly total: number;
  readonly started: number;
  readonly skipped: Readonly<Record<string, number>>;
  /**
   * Cursor of the next page of tasks whose callbacks are to be sent; empty before the first page and after the last.
   */
  readonly cursor: string;
  readonly isDone: boolean;
  /**
   * Seconds to wait before the next callbacks are sent, because the relay has temporarily refused the last request,
   * e.g. by a rate limit; 0 for no wait.
   */
  readonly waitS: number;
}

const UUID = /^[0-9a-f-]{36}$/;
/** Pattern of a reason with the number of tasks that were skipped for it, e.g. `task_open:1`. */
const SKIPPED = /^(\w{1,32}):(\d{1,9})$/;
/** Largest number of characters of the parameter `skipped` that are read. */
const MAX_SKIPPED = 512;

/**
 * Reads the state of a bulk redelivery from the URL of its page or from its form.
 * @returns null when they contain no such state.
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

/** Returns those of the parameters that are filters of a list of tasks. */
export function filtersIn(search: URLSearchParams): URLSearchParams {
  const filters = new URLSearchParams();
  for (const name of FILTER_NAMES) {
    const value = search.get(name);
    if (value !== null) filters.set(name, value);
  }
  return filters;
}

/**
 * Returns the state of a bulk redelivery that has not started.
 * @param total number of tasks whose callbacks it is to send.
 */
export function newBulkRedelivery(id: string, total: number): BulkRedelivery {
  const nothing = { started: 0, skipped: {}, cursor: "", isDone: false, waitS: 0 };
  return { id, pace: PACES[0], total, ...nothing };
}

/**
 * Returns the state of a bulk redelivery after a step. Callbacks that the relay reports as already ordered count as
 * sent: they were ordered by this same step, whose response did not reach the browser, so that the browser sent the
 * step again.
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

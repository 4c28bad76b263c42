import type { BulkEffects } from "../api/search/redeliver-many.ts";
import { FILTER_NAMES } from "./task-parameters.ts";

/** Path of the page that sends callbacks again. */
export const SEND_AGAIN = "/redeliveries";
/** Largest number of tasks that are counted before their callbacks are sent again. */
export const MAX_COUNTED = 10_000;
/**
 * The numbers of callbacks that a run (sending many callbacks again) can send in one step; the viewer selects
 * one.
 */
export const PACES = [10, 25, 50] as const;

const REASONS: Readonly<Record<string, string>> = {
  task_open: "have no result yet",
  series_running: "are being sent",
  no_callback: "have no callback URL",
  idempotency_key_reused: "were sent to another URL under the same key",
  unknown_task: "are erased",
  unreachable: "could not be reached; a further run reaches them",
};

/** Says why tasks are skipped, e.g. `3 are being sent, 1 has no result yet`. */
export function reasonsText(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .map(([reason, count]) => `${count} ${REASONS[reason] ?? reason}`)
    .join(", ");
}

/**
 * State of a run: of sending the callbacks of many tasks again, page by page. The whole state is in the URL
 * of its page, so that a reload goes on with it; the id is the `Idempotency-Key` of all requests to send, so
 * that no callback is sent twice by the same run.
 */
export interface Run {
  readonly id: string;
  readonly pace: number;
  /** Number of tasks whose callbacks are to be sent again, as counted before the start. */
  readonly total: number;
  readonly started: number;
  readonly skipped: Readonly<Record<string, number>>;
  /**
   * Cursor of the next page of tasks whose callbacks are to be sent again; empty before the first page and
   * after the last.
   */
  readonly cursor: string;
  readonly isDone: boolean;
  /**
   * Seconds to wait before the next callbacks are sent, because the relay has refused the last request for
   * the moment, e.g. by a rate limit; 0 for none.
   */
  readonly waitS: number;
}

const UUID = /^[0-9a-f-]{36}$/;
/** Pattern of the number of tasks that were skipped for one reason, e.g. `task_open:1`. */
const SKIPPED = /^(\w{1,32}):(\d{1,9})$/;
/** Largest number of characters that are read of the reasons for which tasks were skipped. */
const MAX_SKIPPED = 512;

/**
 * Reads the state of a run (sending many callbacks again) from the URL of its page or from its form; null when
 * they contain none.
 */
export function readRun(search: URLSearchParams): Run | null {
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

/** Reads how many tasks were skipped for which reasons, e.g. from `series_running:3,task_open:1`. */
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

/**
 * Writes the state of a run (sending many callbacks again) and its filters as the query parameters of its page.
 */
export function runParameters(filters: URLSearchParams, run: Run): URLSearchParams {
  const skipped = Object.entries(run.skipped).map(([reason, count]) => `${reason}:${count}`);
  const values: Readonly<Record<string, string>> = {
    run: run.id,
    pace: String(run.pace),
    total: String(run.total),
    started: String(run.started),
    skipped: skipped.join(","),
    cursor: run.cursor,
    done: run.isDone ? "1" : "",
    wait: run.waitS === 0 ? "" : String(run.waitS),
  };
  const all = filtersIn(filters);
  for (const [name, value] of Object.entries(values)) if (value !== "") all.set(name, value);
  return all;
}

/** Returns only those parameters that are filters of a list of tasks. */
export function filtersIn(search: URLSearchParams): URLSearchParams {
  const filters = new URLSearchParams();
  for (const name of FILTER_NAMES) {
    const value = search.get(name);
    if (value !== null) filters.set(name, value);
  }
  return filters;
}

/**
 * Returns the initial state of a run that sends the callbacks of this many tasks again; it has sent none yet.
 */
export function newRun(id: string, total: number): Run {
  const nothing = { started: 0, skipped: {}, cursor: "", isDone: false, waitS: 0 };
  return { id, pace: PACES[0], total, ...nothing };
}

/**
 * Returns the state of a run (sending many callbacks again) after one of its steps. Callbacks that the relay
 * reports as ordered before by this same step are added to those sent: the browser submitted the step twice,
 * because the first answer did not reach it.
 */
export function advanced(run: Run, page: BulkEffects): Run {
  const { already_ordered: repeated = 0, ...reasons } = page.skipped_because;
  const skipped = { ...run.skipped };
  for (const [reason, count] of Object.entries(reasons)) {
    skipped[reason] = (skipped[reason] ?? 0) + count;
  }
  return {
    ...run,
    started: run.started + page.started + repeated,
    skipped,
    waitS: 0,
    cursor: page.next_cursor ?? "",
    isDone: page.next_cursor === null,
  };
}

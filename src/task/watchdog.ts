import {
  isOpen,
  isSettled,
  isTerminal,
  type TaskRecord,
  type TerminalTask,
} from "../core/record/task.ts";
import { MINUTE_MS, SECOND_MS } from "../core/time.ts";

/**
 * Time by which a pending alarm may come later than the wanted watchdog, unless a client waits for the
 * work. Such an alarm is kept, because setting another one costs a row.
 */
const ACCEPTED_DELAY_MS = MINUTE_MS;
/** Time by which a pending alarm may come earlier than the wanted watchdog during an attempt. */
const ACCEPTED_LEAD_MS = SECOND_MS;

/**
 * Tells whether the alarm that is set already can serve as the watchdog, which restarts work after a crash
 * and is wanted at `wantedAt`: setting another alarm costs a row. The alarm may come sooner, because one
 * that fires while the work is running joins it; only during an attempt it must not come before the longest
 * time that the attempt can take is over.
 * @param armedFor time of the alarm that is set; null when it is not known. All times are Unix
 * milliseconds.
 */
export function canWatch(
  armedFor: number | null,
  record: TaskRecord,
  wantedAt: number,
  now: number,
): boolean {
  const isClientWaiting = !isOpen(record) && !isAtRest(record);
  const earliest = openAttempt(record) === null ? now + 1 : wantedAt - ACCEPTED_LEAD_MS;
  const latest = isClientWaiting ? wantedAt : wantedAt + ACCEPTED_DELAY_MS;
  return armedFor !== null && armedFor >= earliest && armedFor <= latest;
}

/** Tells whether a task is settled, so that no client waits for anything. */
export function isAtRest(record: TaskRecord | null): record is TerminalTask {
  return record !== null && isTerminal(record) && isSettled(record);
}

/** Returns the number of the attempt that is open; null when there is none. */
export function openAttempt(record: TaskRecord | null): number | null {
  if (record === null || !isTerminal(record) || record.callback === null) return null;
  const { state } = record.callback;
  return state.kind === "in_flight" ? state.number : null;
}

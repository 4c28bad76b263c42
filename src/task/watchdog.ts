import {
  isOpen,
  isSettled,
  isTerminal,
  type TaskRecord,
  type TerminalTask,
} from "../core/record/task.ts";
import { MINUTE_MS, SECOND_MS } from "../core/time.ts";

/** Delay of a watchdog that is accepted to save a row, unless a client waits for the work. */
const ACCEPTED_DELAY_MS = MINUTE_MS;
/** Part of the watchdog's margin after an attempt by which a pending alarm may come sooner. */
const ACCEPTED_LEAD_MS = SECOND_MS;

/**
 * Tells whether the pending alarm can serve as the watchdog wanted at `wantedAt`, because setting an alarm
 * again costs a row. An alarm that fires while the work is running joins it. During an attempt the alarm
 * must come between the longest time that the attempt can take and the wanted time.
 * @param armedFor time of the pending alarm; null when it is not known. All times are Unix milliseconds.
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

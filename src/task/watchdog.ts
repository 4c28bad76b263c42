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

/** The alarm of an object, as far as the instance knows it. Times are Unix milliseconds. */
export interface KnownAlarm {
  /** Time of the pending alarm; null when there is none, or when it is not known. */
  readonly armedFor: number | null;
  /** States that an alarm is being handled. Until another is set, the platform repeats it after a crash. */
  readonly isRunning: boolean;
}

/**
 * Tells whether the alarm of an object can serve as the watchdog, which restarts work after a crash and is
 * wanted at `wantedAt`: setting another alarm costs a row. The alarm may come sooner, because one that fires
 * while the work is running joins it; only during an attempt it must not come before the longest time that
 * the attempt can take is over. While an alarm is being handled and no client waits, no other is needed.
 */
export function canWatch(
  { armedFor, isRunning }: KnownAlarm,
  record: TaskRecord,
  wantedAt: number,
  now: number,
): boolean {
  const isClientWaiting = !isOpen(record) && !isAtRest(record);
  if (armedFor === null) return isRunning && !isClientWaiting;
  const earliest = openAttempt(record) === null ? now + 1 : wantedAt - ACCEPTED_LEAD_MS;
  const latest = isClientWaiting ? wantedAt : wantedAt + ACCEPTED_DELAY_MS;
  return armedFor >= earliest && armedFor <= latest;
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

import {
  isOpen,
  isSettled,
  isTerminal,
  type TaskRecord,
  type TerminalTask,
} from "../core/record/task.ts";
import { MINUTE_MS, SECOND_MS } from "../core/time.ts";

/**
 * Time in milliseconds by which the alarm that is already set may come later than the watchdog alarm should,
 * unless a client waits for the result. Such an alarm is kept, because setting another is billed as a written
 * row.
 */
const ACCEPTED_DELAY_MS = MINUTE_MS;
/**
 * Time in milliseconds by which the alarm that is already set may come earlier than the watchdog alarm
 * should, while an attempt is being sent.
 */
const ACCEPTED_LEAD_MS = SECOND_MS;

/**
 * The alarm of a task object, as far as this instance of the object knows it. Times are Unix milliseconds.
 */
export interface KnownAlarm {
  /** Time for which the alarm is set; null when none is set, or when the instance does not know. */
  readonly armedFor: number | null;
  /**
   * States that the handler of an alarm is running. Unless another alarm is set, the platform repeats it
   * after a crash.
   */
  readonly isRunning: boolean;
}

/**
 * Tells whether the alarm that is already set can serve as the watchdog, which restarts work after a crash
 * and should fire at `wantedAt`; setting another alarm is billed as a written row. That alarm may come
 * sooner, because an alarm that fires during the work waits for its end; but while an attempt is being sent
 * it must not come before the attempt's time limit has passed. Without any alarm set, a running handler
 * suffices while no client waits, because the platform repeats it after a crash.
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

/**
 * Tells whether a task is settled: it has ended, and no attempt of its callback and no refund is left to
 * make.
 */
export function isAtRest(record: TaskRecord | null): record is TerminalTask {
  return record !== null && isTerminal(record) && isSettled(record);
}

/**
 * Returns the number of the attempt that was started and whose result is not stored yet; null when there is
 * none.
 */
export function openAttempt(record: TaskRecord | null): number | null {
  if (record === null || !isTerminal(record) || record.callback === null) return null;
  const { state } = record.callback;
  return state.kind === "in_flight" ? state.number : null;
}

import {
  isOpen,
  isSettled,
  isTerminal,
  type TaskRecord,
  type TerminalTask,
} from "../core/record/task.ts";
import { MINUTE_MS, SECOND_MS } from "../core/time.ts";

/**
 * The watchdog alarm starts the work of a task again after a crash. An alarm that is set already is used in
 * its place, because setting another is billed as a written row, when it comes later by at most this time in
 * milliseconds; while a client waits for the result, it must not come later at all.
 */
const ACCEPTED_DELAY_MS = MINUTE_MS;
/**
 * The watchdog alarm starts the work of a task again after a crash. While an attempt is being sent, an alarm
 * that is set already is used in its place only when it comes earlier by at most this time in milliseconds.
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
 * Tells whether a run of work needs no new watchdog alarm, which starts the work again after a crash. Setting
 * an alarm is billed as a written row, so the alarm that is already set is used instead when its time fits:
 * it may come up to a minute after `wantedAt`, but not after `wantedAt` while a client waits for the outcome.
 * It may come earlier, because an alarm that fires during the work waits for the end of the work; only while
 * an attempt is being sent, it may come at most a second before `wantedAt`. When no alarm is set, but the
 * handler of one is running, no new alarm is needed unless a client waits, because the platform repeats the
 * handler after a crash.
 * @param wantedAt time at which the watchdog alarm should fire, in Unix milliseconds.
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

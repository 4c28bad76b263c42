import { attemptInFlight } from "../../core/duties/callback-attempt.ts";
import {
  isOpen,
  isSettled,
  isTerminal,
  type TaskRecord,
  type TerminalTask,
} from "../../core/record/task.ts";
import { MINUTE_MS, SECOND_MS } from "../../core/time.ts";

/**
 * Longest time in milliseconds by which an existing alarm may be later than a new watchdog alarm and still be used in
 * its place. A watchdog alarm starts the work of a task again after a crash; using the existing alarm saves a billed
 * row. While a client waits for a callback or refund, the existing alarm must not be later at all.
 */
const ACCEPTED_DELAY_MS = MINUTE_MS;
/**
 * Longest time in milliseconds by which an existing alarm may be earlier than a new watchdog alarm and still be used in
 * its place, while a callback attempt is being sent. A watchdog alarm starts the work of a task again after a crash.
 */
const ACCEPTED_LEAD_MS = SECOND_MS;

/** Knowledge of an instance of a task object about its alarm. Times are Unix milliseconds. */
export interface KnownAlarm {
  /** Time for which the alarm is set. Null when none is set, and when the instance does not know this time. */
  readonly armedFor: number | null;
  /**
   * True while the handler of an alarm is running. If a crash ends the handler, the platform repeats this alarm, unless
   * another alarm is set.
   */
  readonly isRunning: boolean;
}

/**
 * Tells whether a run of work needs no new watchdog alarm, which would start the work again after a crash.
 * Setting an alarm is billed as a written row, so one of these serves in its place:
 * - an alarm that fires later than the watchdog would, by at most `ACCEPTED_DELAY_MS`, unless a client waits for a
 *   callback or refund;
 * - an alarm that fires earlier: its handler joins the work that is under way and sets the next alarm at its end;
 *   while an attempt of a callback is being sent, it may be earlier by at most `ACCEPTED_LEAD_MS`;
 * - the alarm whose handler is running, if no client waits: after a crash the platform runs it again.
 * @param wantedAt time at which a new watchdog alarm would fire, in Unix milliseconds.
 */
export function canWatch(
  { armedFor, isRunning }: KnownAlarm,
  record: TaskRecord,
  wantedAt: number,
  now: number,
): boolean {
  const isClientWaiting = !isOpen(record) && !isSettledTask(record);
  if (armedFor === null) return isRunning && !isClientWaiting;
  const earliest = attemptInFlight(record) === null ? now + 1 : wantedAt - ACCEPTED_LEAD_MS;
  const latest = isClientWaiting ? wantedAt : wantedAt + ACCEPTED_DELAY_MS;
  return armedFor >= earliest && armedFor <= latest;
}

/**
 * Tells whether the existing alarm can stay when work is planned for `wantedAt`. It can when it fires before that time:
 * it then finds nothing due and is set again. This saves a billed row for each change that postpones the next work. An
 * alarm whose time has passed cannot stay, because it may be lost; cron/wake-overdue.ts says who finds a task whose
 * alarm is lost. Times are Unix milliseconds.
 * @param armedFor time for which the alarm is set; null when none is set, or when the instance does not know.
 */
export function isEarlyEnough(armedFor: number | null, wantedAt: number, now: number): boolean {
  return armedFor !== null && armedFor > now && armedFor <= wantedAt;
}

/**
 * Tells whether a record is that of a settled task: it has ended, and neither an attempt of its callback nor a refund
 * or release of credits has still to be made.
 */
export function isSettledTask(record: TaskRecord | null): record is TerminalTask {
  return record !== null && isTerminal(record) && isSettled(record);
}

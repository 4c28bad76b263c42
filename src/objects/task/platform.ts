import type { Charge } from "../../core/duties/charge.ts";
import type { Delivery } from "../../core/duties/callback-attempt.ts";
import type { OperatorNotice } from "../../core/duties/operator-notice-send.ts";
import type { Poll } from "../../core/duties/poll.ts";
import type { Refund } from "../../core/duties/refund.ts";
import type { ChargeAnswer, PollAnswer } from "../../core/events/event.ts";
import type { Settings } from "../../core/policy.ts";
import type { AttemptResult } from "../../core/record/callback.ts";
import type { HookReport } from "../../core/events/hook-report.ts";
import type { TaskRecord } from "../../core/record/task.ts";
import type { IndexRow } from "../../core/views/index-row.ts";
import type { LogLevel, LogLine } from "../../log.ts";

/**
 * The storage, the alarm, the clock and the calls that the work loop of a task uses: those of a Durable
 * Object, or simulated ones in tests.
 */
export interface Platform {
  /** Returns the time in Unix milliseconds. */
  now(): number;
  policy(now: number): Settings;
  /**
   * Reads the record of the task as last committed; null when there is no task.
   * @throws when the record cannot be read.
   */
  load(): TaskRecord | null;
  /**
   * Writes the record of the task and, in the same commit, the alarm for its next step.
   * @param alarmAt time of the alarm in Unix milliseconds; null keeps the alarm that is set.
   */
  commit(record: TaskRecord, alarmAt: number | null): void;
  setAlarm(at: number): void;
  /** Deletes the record of the task and its alarm. */
  erase(): Promise<void>;
  /**
   * Sends one attempt of a callback. A failure of the receiver is returned as a result; it does not throw.
   */
  send(delivery: Delivery): Promise<AttemptResult>;
  /**
   * Charges the price of a task to the ledger of its account; the answer is `unknown` when the ledger does
   * not answer in time.
   * @throws when the ledger fails.
   */
  charge(charge: Charge): Promise<ChargeAnswer>;
  /**
   * Refunds the credits of a failed task.
   * @returns true when the refund is confirmed in time; otherwise the task repeats the request later.
   * @throws when the ledger fails.
   */
  refund(refund: Refund): Promise<boolean>;
  /**
   * Asks the provider for the state of the job, unless its connection has made as many polls as the provider
   * permits per minute. Every failure is returned as an answer; nothing is thrown. When aborted, returns at
   * once.
   */
  poll(poll: Poll, aborted: AbortSignal): Promise<PollAnswer>;
  /**
   * Writes the row of a task to the index, directly or through the queue.
   * @returns true when the index or the queue confirms the write in time.
   * @throws when the index or the queue fails.
   */
  writeIndexRow(row: IndexRow): Promise<boolean>;
  /**
   * Sends a message about the task to `OPERATOR_CALLBACK_URL`; returns at once when aborted.
   * @returns true when the receiver accepts the message in time.
   */
  sendNotice(notice: OperatorNotice, aborted: AbortSignal): Promise<boolean>;
  /**
   * Tells the Durable Object of the connection to the provider whether the expected hook of a job has come.
   * Where hooks stay away, later jobs are polled sooner. Nothing waits for this call, and when it fails, nothing
   * repeats it.
   */
  reportHook(report: HookReport): void;
  /**
   * Keeps the task object alive until `work` has ended, also after the answer to the request has been sent.
   */
  background(work: Promise<unknown>): void;
  /** Writes a log line; one of the level `detail` only with `LOG=all`. */
  log(line: LogLine, level: LogLevel): void;
  /**
   * Delay in milliseconds after which the watchdog alarm fires, which restarts work after a crash; longer
   * than any call.
   */
  readonly watchdogMs: number;
}

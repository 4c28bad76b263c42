import type { Cancel } from "../../core/duties/cancel-job.ts";
import type { Charge } from "../../core/duties/charge.ts";
import type { CopyOrder, KeptOutputs } from "../../core/duties/copy-order.ts";
import type { Delivery } from "../../core/duties/callback-attempt.ts";
import type { OperatorNotice } from "../../core/duties/operator-notice-send.ts";
import type { Poll } from "../../core/duties/poll.ts";
import type { Refund } from "../../core/duties/refund.ts";
import type { QueueLeave } from "../../core/duties/queue-leave.ts";
import type { Release } from "../../core/duties/release.ts";
import type { AccountFault } from "../../core/events/account-fault.ts";
import type { CancelAnswer, ChargeAnswer, PollAnswer } from "../../core/events/event.ts";
import type { ProgressCallback } from "../../core/events/progress-callback.ts";
import type { Settings } from "../../core/policy.ts";
import type { AttemptResult } from "../../core/record/callback.ts";
import type { EndedAttempt } from "./sender-binding.ts";
import type { HookReport } from "../../core/events/hook-report.ts";
import type { TaskRecord } from "../../core/record/task.ts";
import type { AttachedJob } from "../../core/record/upstream.ts";
import type { IndexRow } from "../../core/views/index-row.ts";
import type { LogLevel, LogLine } from "../../lib/log.ts";

/**
 * Storage, alarm, clock and calls to other services, as the work loop of a task uses them. They belong to a Durable
 * Object, or are simulated in tests.
 */
export interface Platform {
  /** Returns the current time in Unix milliseconds. */
  now(): number;
  policy(now: number): Settings;
  /**
   * Returns the record of the task as it was last committed; null when there is no task.
   * @throws when the record cannot be read.
   */
  load(): TaskRecord | null;
  /**
   * Stores the record of the task and, in the same commit, the alarm for its next step.
   * @param alarmAt time of the alarm in Unix milliseconds; null leaves the alarm as it is.
   */
  commit(record: TaskRecord, alarmAt: number | null): void;
  setAlarm(at: number): void;
  /** Deletes the record of the task and its alarm. */
  erase(): Promise<void>;
  /**
   * Reads which hosts are paused, so that `policy` states it. It does not throw: without an answer in time, the hosts count
   * as paused that were so when they were read last.
   * @returns null when this was read within the last seconds.
   */
  readPauses(): Promise<void> | null;
  /**
   * Sends one attempt of a callback. It does not throw: the failure of a receiver is the result.
   * @returns null when the result has not come soon: the sender then reports it by `WorkLoop.endAttempt`. If it never does,
   * the attempt is found interrupted.
   */
  send(delivery: Delivery): Promise<EndedAttempt | null>;
  /**
   * Sends a progress callback, once. It does not throw when the receiver fails: the failure is the result.
   * @param mayStart is asked right before the request leaves, which it does only if the answer is true.
   * @returns null when the request was not sent.
   */
  sendProgress(callback: ProgressCallback, mayStart: () => boolean): Promise<AttemptResult | null>;
  /**
   * Asks the ledger of the task's account to charge the price of a task. The answer is `unknown` when the ledger does
   * not answer in time.
   * @throws when the ledger fails.
   */
  charge(charge: Charge): Promise<ChargeAnswer>;
  /**
   * Asks for the refund of the credits of a failed task.
   * @returns true when the refund is confirmed in time; otherwise the task repeats the request later.
   * @throws when the ledger fails.
   */
  refund(refund: Refund): Promise<boolean>;
  /**
   * Asks for the release of the credits that were charged for a completed task beyond its final price.
   * @returns true when the release is confirmed in time; otherwise the task repeats the request later.
   * @throws when the ledger fails.
   */
  release(release: Release): Promise<boolean>;
  /**
   * Asks the provider for the state of the job, unless the connection's limit of polls is reached. It does not throw:
   * every failure is returned as an answer. When `aborted` aborts, it returns at once.
   */
  poll(poll: Poll, aborted: AbortSignal): Promise<PollAnswer>;
  /**
   * Asks the provider to cancel a job. It does not throw: every failure is returned as an answer. When `aborted`
   * aborts, it returns at once.
   */
  cancelJob(cancel: Cancel, aborted: AbortSignal): Promise<CancelAnswer>;
  /**
   * Writes the row of a task to the index, directly or through the queue.
   * @returns true when the index or the queue confirms the write in time.
   * @throws when the index or the queue fails.
   */
  writeIndexRow(row: IndexRow): Promise<boolean>;
  /**
   * Sends a message about the task to `OPERATOR_CALLBACK_URL`. When `aborted` aborts, it returns at once.
   * @returns true when the receiver accepts the message in time.
   */
  sendNotice(notice: OperatorNotice, aborted: AbortSignal): Promise<boolean>;
  /**
   * Reports to the Durable Object of the connection whether the expected hook of a job has come. When the hooks of
   * a connection do not come, later jobs are polled sooner. Nothing waits for this call, and nothing repeats it
   * when it fails.
   */
  reportHook(report: HookReport): void;
  /**
   * Alerts the operator that a job has failed because of the operator's account at the upstream. Nothing waits for this
   * call, and nothing repeats it when it fails.
   */
  reportAccountFault(fault: AccountFault): void;
  /**
   * Tells the object of a kept call that the task's job has failed, or that the task has ended. Nothing waits for this
   * call: if it is lost, the object asks the task later.
   */
  tellKeptCall(submissionId: string): void;
  /**
   * Orders the copies of the outputs of a task that has just ended. Nothing waits for this call. If the order is lost,
   * `orderCopies` repeats it.
   */
  startCopies(order: CopyOrder): void;
  /**
   * Orders the copies of the outputs of a task, and the deletion of copies. What was ordered before changes nothing.
   * @returns true when the object that copies outputs has accepted the order, and has deleted the copies, in time.
   * @throws when that object fails.
   */
  orderCopies(order: CopyOrder): Promise<boolean>;
  /**
   * Tells the queues of the connections that a submission leaves them.
   * @returns true when all queues have confirmed it in time.
   * @throws when a queue fails.
   */
  leaveQueues(leave: QueueLeave): Promise<boolean>;
  /**
   * Stops copying the outputs of a task, and deletes the copies that exist.
   * @throws when they could not be deleted.
   */
  deleteOutputs(outputs: KeptOutputs): Promise<void>;
  /**
   * Deletes the entry that says to which task a job belongs, in the Durable Object of the job.
   * @throws when it could not be deleted.
   */
  forgetJob(job: AttachedJob, taskId: string): Promise<void>;
  /** Keeps the task object running until `work` has ended, even if the answer to the request has been sent before. */
  background(work: Promise<unknown>): void;
  /**
   * Writes a log line. A line of the level `detail` is written only with `LOG=all`.
   * @param line returns the line; it is called only when the line is written.
   */
  log(line: () => LogLine, level: LogLevel): void;
}

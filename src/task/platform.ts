import type { Charge } from "../core/duties/charge.ts";
import type { Delivery } from "../core/duties/deliver.ts";
import type { OperatorNotice } from "../core/duties/notify.ts";
import type { Poll } from "../core/duties/poll.ts";
import type { Refund } from "../core/duties/refund.ts";
import type { ChargeAnswer, PollAnswer } from "../core/events/event.ts";
import type { Policy } from "../core/policy.ts";
import type { AttemptResult } from "../core/record/callback.ts";
import type { TaskRecord } from "../core/record/task.ts";
import type { IndexRow } from "../core/views/index-row.ts";
import type { LogLevel, LogLine } from "../log.ts";

/** The environment of the work loop: a Durable Object, or a simulated one. */
export interface Platform {
  /** Returns the time in Unix milliseconds. */
  now(): number;
  policy(now: number): Policy;
  /** Reads the committed record. @throws when it cannot be read. */
  load(): TaskRecord | null;
  /** Commits the record together with the alarm that covers it. */
  commit(record: TaskRecord, alarmAt: number): void;
  setAlarm(at: number): void;
  /** Removes the record and the alarm. */
  erase(): Promise<void>;
  /** Sends one attempt. A failure of the receiver is a result. */
  send(delivery: Delivery): Promise<AttemptResult>;
  /** Charges the price at the ledger; `unknown` when there is no answer in time. */
  charge(charge: Charge): Promise<ChargeAnswer>;
  /** Gives the credits back; false when there is no such answer in time. */
  refund(refund: Refund): Promise<boolean>;
  /** Polls the upstream; every failure is an answer. Ends at once when aborted. */
  poll(poll: Poll, aborted: AbortSignal): Promise<PollAnswer>;
  /** Writes the row of a task to the index; false when there is no such answer in time. */
  publish(row: IndexRow): Promise<boolean>;
  /** Notifies the operator; false when there is no such answer in time. Ends at once when aborted. */
  notify(notice: OperatorNotice, aborted: AbortSignal): Promise<boolean>;
  /** Keeps work going after the answer has left. */
  background(work: Promise<unknown>): void;
  log(line: LogLine, level: LogLevel): void;
  /** Delay of the alarm that restarts work after a crash: longer than any call. */
  readonly watchdogMs: number;
}

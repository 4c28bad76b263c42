import type { AttemptResult, ChargeAnswer, PollAnswer } from "../core/events/event.ts";
import type { Policy } from "../core/policy.ts";
import type { IndexRow } from "../core/views/index-row.ts";
import type { Charge, Delivery, OperatorNotice, Poll, Refund } from "../core/step.ts";
import type { TaskRecord } from "../core/record/task.ts";
import type { LogLine } from "../log.ts";

/** What the loop runs on: the object's own platform, or a simulated one. */
export interface Platform {
  /** Unix milliseconds. */
  now(): number;
  policy(now: number): Policy;
  /** The committed record. @throws when it cannot be read. */
  load(): TaskRecord | null;
  /** Commits the record together with the alarm that covers it. */
  commit(record: TaskRecord, alarmAt: number): void;
  setAlarm(at: number): void;
  /** Removes the record and the alarm. */
  erase(): Promise<void>;
  /** Sends one attempt; a failure of the receiver is a result. */
  send(delivery: Delivery): Promise<AttemptResult>;
  /** Asks the ledger to charge; `unknown` when there is no answer in time. */
  charge(charge: Charge): Promise<ChargeAnswer>;
  /** Has the credits given back; false when there is no such answer in time. */
  refund(refund: Refund): Promise<boolean>;
  /** Asks the upstream after a job; whatever it does is an answer. Ends at once when aborted. */
  poll(poll: Poll, aborted: AbortSignal): Promise<PollAnswer>;
  /** Writes the row of a task to the index; false when there is no such answer in time. */
  publish(row: IndexRow): Promise<boolean>;
  /** Tells the operator; false when there is no such answer in time. Ends at once when aborted. */
  notify(notice: OperatorNotice, aborted: AbortSignal): Promise<boolean>;
  /** Lets work go on after the answer. */
  background(work: Promise<void>): void;
  log(line: LogLine): void;
  /** How long after a start of work the alarm looks whether it is still alive: longer than any call. */
  readonly watchdogMs: number;
}

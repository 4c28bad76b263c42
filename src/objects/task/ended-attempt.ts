import type { Delivery } from "../../core/duties/callback-attempt.ts";
import type { AttemptResult } from "../../core/record/callback.ts";
import { isTerminal, type TaskRecord } from "../../core/record/task.ts";

/** An attempt of a callback that has ended, as its sender reports it to the task's object. */
export interface EndedAttempt {
  /** The attempt as it was sent, without the body. */
  readonly delivery: Omit<Delivery, "body">;
  readonly result: AttemptResult;
  /** Time at which the receiver had answered or the sender stopped waiting, in Unix milliseconds. */
  readonly endedAt: number;
}

/** Tells whether the task has stored exactly this end already, so that the report of it is a repetition. */
export function isStored(
  record: TaskRecord | null,
  { delivery: { number, startedAt }, result: { outcome } }: EndedAttempt,
): boolean {
  const attempts = record !== null && isTerminal(record) ? record.callback?.attempts : undefined;
  const known = attempts?.find((attempt) => attempt.number === number);
  return known?.startedAt === startedAt && known.outcome === outcome;
}

import type { PollAnswer } from "../../src/core/events/event.ts";
import type { TaskRecord } from "../../src/core/record/task.ts";
import type { SimulatedLedger } from "./ledger.ts";
import type { SimulatedObject } from "./simulated-object.ts";
import type { Setting } from "./setting.ts";
import type { TaskHistory } from "./task-history.ts";

/** The answer of the upstream, and how many nudges there had been when it was polled. */
export interface Heard {
  readonly answer: PollAnswer;
  readonly nudges: number;
}

/** One commit, and what the rules need to know to judge it. */
export interface Change<B extends TaskRecord | null = TaskRecord | null, A = TaskRecord> {
  readonly before: B;
  readonly after: A;
  /** The loop's clock, Unix milliseconds. */
  readonly now: number;
  readonly setting: Setting;
  readonly history: TaskHistory;
  readonly ledger: SimulatedLedger;
  /** Who commits. */
  readonly instance: SimulatedObject;
  /** Storage has failed, so that what was heard may not have been written. */
  readonly wasBroken: boolean;
  /** The end of a poll that this commit follows from; null: it follows from something else. */
  readonly heard: Heard | null;
}

/** The first of the statements that is not true; null: all are. */
export function firstViolation(
  ...statements: readonly (readonly [said: string, isTrue: boolean])[]
) {
  return statements.find(([, isTrue]) => !isTrue)?.[0] ?? null;
}

/** Whether two values of a record say the same. */
export function isEqual(a: unknown, b: unknown): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}

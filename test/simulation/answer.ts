import type { Decision } from "../../src/core/events/decision.ts";
import type { TaskRecord } from "../../src/core/record/task.ts";
import type { OutsideEvent } from "./moves.ts";
import type { Setting } from "./setting.ts";

/** What somebody told the relay, and what it made of it in the same turn. */
export interface Answer {
  readonly event: OutsideEvent;
  readonly before: TaskRecord | null;
  readonly after: TaskRecord | null;
  readonly commits: readonly TaskRecord[];
  readonly decision: Decision;
  readonly setting: Setting;
  /** Unix milliseconds. */
  readonly now: number;
}

import type { Decision } from "../../src/core/events/decision.ts";
import type { TaskRecord } from "../../src/core/record/task.ts";
import type { OutsideEvent } from "./moves.ts";
import type { Setting } from "./setting.ts";

/** An event for the relay and its effect in the same turn. */
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

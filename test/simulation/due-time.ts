import {
  isOpen,
  isTerminal,
  type OpenTask,
  type TaskRecord,
  type TerminalTask,
} from "../../src/core/record/task.ts";
import { MINUTE } from "../core/builders.ts";
import { isPollable } from "./end-rules.ts";
import type { Setting } from "./setting.ts";

/** The longest wait while the relay is paused. */
const LOOK_MS = 30 * MINUTE;
const PUBLISHED_WITHIN_MS = MINUTE;

/** Returns the latest time of the next work on a record; Unix milliseconds. */
export function dueTime(record: TaskRecord, setting: Setting, now: number): number {
  if (record.status === "charging") return record.credits.state.retryAt;
  const own = isOpen(record) ? openDueTime(record, setting, now) : endDueTime(record, setting, now);
  return Math.min(own, publicationDueTime(record, setting));
}

function openDueTime(task: OpenTask, setting: Setting, now: number): number {
  const { poll } = task.tracking;
  if (poll === null) return task.deadlineAt;
  const wantedAt = setting.isPaused ? task.deadlineAt : Math.min(poll.at, task.deadlineAt);
  // The limit of the provider counts past the deadline too.
  const askAt = Math.max(wantedAt, poll.notBefore);
  return isPollable(task, setting, Math.max(askAt, now)) ? askAt : task.deadlineAt;
}

function endDueTime(task: TerminalTask, setting: Setting, now: number): number {
  const state = task.callback?.state ?? { kind: "delivered" };
  if (task.credits?.state.kind === "refunding") return task.credits.state.retryAt;
  switch (state.kind) {
    case "due":
      return setting.isPaused ? Math.max(state.nextAttemptAt, now + LOOK_MS) : state.nextAttemptAt;
    case "in_flight":
      return state.startedAt;
    case "held":
      return now;
    case "delivered":
    case "failed":
      return task.expiresAt;
  }
}

/** Returns when the row must be published; while an attempt is due, the row waits for its result. */
function publicationDueTime(
  record: Exclude<TaskRecord, { status: "charging" }>,
  setting: Setting,
): number {
  const { publication, version } = record;
  if (!setting.isIndexed || publication.version === version) return Infinity;
  if (isTerminal(record) && record.callback?.state.kind === "due") return Infinity;
  return Math.max(version + PUBLISHED_WITHIN_MS, publication.retryAt);
}

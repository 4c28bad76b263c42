import {
  isOpen,
  isTerminal,
  type OpenTask,
  type TaskRecord,
  type TerminalTask,
} from "../../src/core/record/task.ts";
import { SENDING_MS, startTime } from "./callback-rules.ts";
import { DAY, MINUTE, SECOND } from "../core/builders.ts";
import { cancelDueTime } from "./cancel-times.ts";
import { lateDueTime } from "./late-rules.ts";
import { isPollable, isShown } from "./end-rules.ts";
import { orderDueTime } from "./output-rules.ts";
import type { LastPoll } from "./poll-rules.ts";
import { endTime, plannedPollTime } from "./poll-times.ts";
import { customerKeyDueTime } from "./customer-key-rules.ts";
import { type Setting, settingFor } from "./setting.ts";

/** Longest wait in milliseconds between two checks while the relay is paused. */
const LOOK_MS = 30 * MINUTE;
const INDEX_ROW_WITHIN_MS = MINUTE;

/** Work that an instance knows that it has done, although nothing of it is stored. */
interface KnownWork {
  /** Last poll of the instance; null when it has polled no job. */
  readonly lastPoll: Pick<LastPoll, "endedAt"> | null;
  /** Time of its last write to the index, in Unix milliseconds; 0 when it has made none. */
  readonly rowTriedAt: number;
  /** Version of the last row that it knows to be in the index; 0 for none. */
  readonly rowVersion: number;
  /** Time until which its connection has deferred its last poll, in Unix milliseconds; 0 when it has not. */
  readonly deferredTo: number;
  /** Time before which it can start no overdue call, in Unix milliseconds; 0 when that is not known. */
  readonly startsAt: number;
}

const NOTHING_KNOWN: KnownWork = {
  lastPoll: null,
  rowTriedAt: 0,
  rowVersion: 0,
  deferredTo: 0,
  startsAt: 0,
};

/** Returns the latest time of the next work on a record, after the work that is known; Unix milliseconds. */
export function dueTime(
  record: TaskRecord,
  given: Setting,
  now: number,
  { lastPoll, rowTriedAt, rowVersion, deferredTo, startsAt }: KnownWork = NOTHING_KNOWN,
): number {
  if (record.status === "charging") return record.credits.state.retryAt;
  const setting = settingFor(record, given);
  const own = isOpen(record)
    ? openDueTime(record, setting, now, lastPoll)
    : endDueTime(record, setting, now);
  const late = isOpen(record) ? Infinity : lateDueTime(record, setting, now, own, deferredTo);
  const isWritten = rowVersion === record.version;
  const rowAt = isWritten ? Infinity : indexRowDueTime(record, setting, Math.max(now, rowTriedAt));
  const keyAt = isOpen(record) ? Infinity : customerKeyDueTime(record, setting);
  const orderAt = isOpen(record) ? Infinity : orderDueTime(record, setting, startsAt);
  const releaseAt = isOpen(record) ? Infinity : releaseDueTime(record);
  return Math.min(own, late, rowAt, keyAt, orderAt, releaseAt);
}

function openDueTime(
  task: OpenTask,
  setting: Setting,
  now: number,
  lastPoll: Pick<LastPoll, "endedAt"> | null,
): number {
  const { poll } = task.tracking;
  const cancelAt = cancelDueTime(task);
  const endAt = awaitedTime(task, setting, now) ?? endTime(task);
  if (poll === null || setting.limits === null) return Math.min(cancelAt, endAt);
  // The end of a wait that the provider has named is a time of its own only for an instance that does not know
  // whether a planned poll fell into the wait.
  const plan = lastPoll === null ? poll : { ...poll, notBefore: 0 };
  const pollAt = plannedPollTime(task, plan, setting, now, lastPoll?.endedAt);
  const wantedAt = setting.isPaused ? endAt : Math.min(pollAt, endAt);
  // The limit of the provider counts past the deadline too.
  const askAt = Math.max(wantedAt, poll.notBefore);
  const ownAt = isPollable(task, setting, Math.max(askAt, now)) ? askAt : endAt;
  return Math.min(cancelAt, ownAt);
}

/**
 * Returns the time until which the job of a submission is awaited, or at which a job that a hook has named is asked for
 * before. Null when nothing is awaited, because the job is known or there is no submission.
 */
function awaitedTime(task: OpenTask, setting: Setting, now: number): number | null {
  const state = task.submission?.state ?? null;
  if (state === null || state.kind === "accepted" || state.kind === "unsent") return null;
  if (state.kind === "sending") return state.endsAt;
  if (state.kind === "queued") return state.failsAt;
  const { failsAt, askAt } = state;
  return askAt !== null && mayAsk(task, setting, Math.max(askAt, now)) ? askAt : failsAt;
}

/** Tells whether a job that a hook has named can be asked for at this time. */
function mayAsk(task: OpenTask, setting: Setting, at: number): boolean {
  const isNamed = task.tracking.keptHooks.some(({ jobId }) => jobId !== null);
  const isUseful = isNamed && isShown(task, setting);
  return isUseful && !setting.isPaused && isPollable(task, setting, at);
}

function endDueTime(task: TerminalTask, setting: Setting, now: number): number {
  const state = task.callback?.state ?? { kind: "delivered" };
  if (task.credits?.state.kind === "refunding") return task.credits.state.retryAt;
  switch (state.kind) {
    case "due":
      // An alarm that was set before the last change may serve for the check whether the pause is over.
      return setting.isPaused
        ? Math.max(startTime(state), Math.max(now, task.version) + LOOK_MS)
        : startTime(state);
    case "in_flight":
      return state.startedAt + SENDING_MS;
    case "held":
      return now;
    case "delivered":
    case "failed":
      return task.expiresAt;
  }
}

/**
 * Returns the time of the next release of credits. While an attempt of the callback is due or under way, the release may
 * wait for its end.
 */
function releaseDueTime({ credits, callback }: TerminalTask): number {
  const kind = callback?.state.kind;
  if (credits?.state.kind !== "releasing" || kind === "due" || kind === "in_flight")
    return Infinity;
  return credits.state.retryAt;
}

/**
 * Returns the latest time of the next write to the index. While an attempt is due or running, the write waits for its
 * result. After failed writes the next one is due before the row has been outdated for four times as long.
 */
function indexRowDueTime(
  record: Exclude<TaskRecord, { status: "charging" }>,
  setting: Setting,
  now: number,
): number {
  const { indexRow, version } = record;
  if (!setting.isIndexed || indexRow.version === version) return Infinity;
  const kind = isTerminal(record) ? record.callback?.state.kind : undefined;
  if (kind === "due" || kind === "in_flight") return Infinity;
  const since = indexRow.outdatedAt ?? version;
  // An alarm that was set before the row became outdated may serve for its writes too.
  const from = Math.max(now, since);
  const waitMs = Math.min(Math.max(3 * (from - since), 5 * SECOND), 7 * DAY);
  const at = Math.max(version + INDEX_ROW_WITHIN_MS, from + waitMs);
  return at < rowExpiresAt(record) ? at : Infinity;
}

/** Returns the time at which the row of a task expires in the index, in Unix milliseconds. */
export function rowExpiresAt(record: OpenTask | TerminalTask): number {
  if (!isTerminal(record)) return Infinity;
  return record.callback?.state.kind === "failed" ? record.expiresAt : record.version + 7 * DAY;
}

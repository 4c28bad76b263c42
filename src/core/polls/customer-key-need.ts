import { type Policy, startAt } from "../policy.ts";
import { areFetchedWithKey } from "../record/outputs.ts";
import { isCharging } from "../record/credits.ts";
import {
  isOpen,
  isSettled,
  isTerminal,
  type TaskRecord,
  type TerminalTask,
} from "../record/task.ts";
import { HOUR_MS } from "../time.ts";
import { lastLatePollAt } from "./late-poll.ts";

/**
 * Time in milliseconds for which a key is kept after the time of the last planned poll with it. That poll may be made late,
 * because its alarm comes late or the limit of the key defers it.
 */
const KEPT_MS = HOUR_MS;

/**
 * Returns the time from which a task needs the key of its customer no more, in Unix milliseconds. An open task needs it to
 * poll its job, and a task whose price is being charged for its call. A task that is settled needs it only while its job is
 * still polled because it has failed at its deadline, or while its outputs may still have to be fetched. Infinity while no
 * such time is known, -Infinity when it is over.
 */
export function customerKeyNeededUntil(record: TaskRecord, policy: Policy): number {
  if (isOpen(record)) return Infinity;
  if (!isTerminal(record)) {
    const isSent = isCharging(record.credits) && record.submission?.state.kind !== "unsent";
    return isSent ? Infinity : -Infinity;
  }
  if (!isSettled(record)) return Infinity;
  const lastPollAt = lastLatePollAt(record, policy);
  const pollsUntil = lastPollAt === null ? -Infinity : startAt(lastPollAt + KEPT_MS, policy);
  return Math.max(pollsUntil, outputsNeedUntil(record));
}

/** Returns the time until which the key may be needed to fetch the outputs of a task. */
function outputsNeedUntil({ outputs }: TerminalTask): number {
  return outputs !== null && areFetchedWithKey(outputs) ? outputs.expiresAt : -Infinity;
}

import { type Policy, startAt } from "../policy.ts";
import { areFetchedWithKey } from "../record/outputs.ts";
import {
  isOpen,
  isSettled,
  isTerminal,
  isToBeCharged,
  type TaskRecord,
  type TerminalTask,
} from "../record/task.ts";
import { HOUR_MS } from "../time.ts";
import { lastLatePollAt } from "./late-poll.ts";

/**
 * Time in milliseconds for which a customer's key is stored after the planned time of the last poll that needs it. This
 * poll may be made late, because its alarm comes late or the limit of the key defers it.
 */
const KEPT_MS = HOUR_MS;

/**
 * Returns the time from which a task no longer needs the key of its customer, in Unix milliseconds. An open task needs
 * the key to poll its job, and a task whose price is being charged needs it for its submission. An ended task needs it
 * only while its job is still polled because the task failed at its deadline, or while its outputs may still have to be
 * fetched. `Infinity` means that the time is not known yet, `-Infinity` that the key is not needed any more.
 */
export function customerKeyNeededUntil(record: TaskRecord, policy: Policy): number {
  if (isOpen(record)) return Infinity;
  if (!isTerminal(record)) {
    return isToBeCharged(record) ? Infinity : -Infinity;
  }
  if (!isSettled(record)) return Infinity;
  const lastPollAt = lastLatePollAt(record, policy);
  const pollsUntil = lastPollAt === null ? -Infinity : startAt(lastPollAt + KEPT_MS, policy);
  return Math.max(pollsUntil, outputsNeedUntil(record));
}

/**
 * Returns the time until which the key of the customer may be needed to fetch the outputs of a task, in Unix
 * milliseconds.
 */
function outputsNeedUntil({ outputs }: TerminalTask): number {
  return outputs !== null && areFetchedWithKey(outputs) ? outputs.expiresAt : -Infinity;
}

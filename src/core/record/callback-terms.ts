import type { Policy } from "../policy.ts";

/**
 * What a task has stored about its callback besides the URL. It is stored when the task is registered, so that later
 * changes of the settings do not change it.
 */
export interface CallbackTerms {
  /**
   * Waits before the attempts, in milliseconds, in place of those in the settings (`Settings.scheduleMs`). Absent when
   * the settings decide.
   */
  readonly scheduleMs?: readonly number[];
}

/**
 * Returns the waits before the attempts of a callback, in milliseconds, each counted from the end of the previous
 * attempt: those of the task or, when it has none, those in the settings. There are as many automatic attempts as waits.
 */
export function scheduleOf(
  { terms }: { readonly terms?: CallbackTerms },
  { scheduleMs }: Pick<Policy, "scheduleMs">,
): readonly number[] {
  return terms?.scheduleMs ?? scheduleMs;
}

/**
 * Returns the terms of a task for which its creator has stated this schedule, as a member of the record. Without a
 * schedule there is no such member.
 */
export function termsWith(scheduleMs: readonly number[] | undefined): {
  readonly callbackTerms?: CallbackTerms;
} {
  return scheduleMs === undefined ? {} : { callbackTerms: { scheduleMs } };
}

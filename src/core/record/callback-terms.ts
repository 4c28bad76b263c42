import type { Policy } from "../policy.ts";
import type { CallbackEvents } from "./callback-events.ts";

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
  /** Events of which the receiver is told. Absent for `completed` and `failed`. */
  readonly events?: CallbackEvents;
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

/** What the creator of a task has stated about its callback besides the URL. */
export interface StatedTerms {
  /** Waits before the attempts of the callback, in milliseconds. Absent when none were stated. */
  readonly callbackScheduleMs?: readonly number[];
  /** Events of which the receiver of the callback is told. Absent for `completed` and `failed`. */
  readonly callbackEvents?: CallbackEvents;
}

/**
 * Returns the terms that the creator of a task has stated, as a member of the record. When nothing is stated, there is no
 * such member.
 */
export function termsWith({
  callbackScheduleMs: scheduleMs,
  callbackEvents: events,
}: StatedTerms): {
  readonly callbackTerms?: CallbackTerms;
} {
  if (scheduleMs === undefined && events === undefined) return {};
  const schedule = scheduleMs === undefined ? {} : { scheduleMs };
  return { callbackTerms: { ...schedule, ...(events !== undefined && { events }) } };
}

import * as z from "zod/mini";
import type { Config } from "../../config/config.ts";
import { DAY_MS, SECOND_MS } from "../../core/time.ts";
import { listOf } from "../http/fields.ts";
import { invalidRequest } from "../http/problem.ts";

const MAX_WAIT_S = 86_400;
const MAX_WAITS = 10;
/** Waits for which the word `day` stands, in milliseconds: eight attempts within 28 hours, as Svix makes them. */
export const DAY_SCHEDULE_MS: readonly number[] = [
  0, 5, 300, 1_800, 7_200, 18_000, 36_000, 36_000,
].map(inMs);
const FORM = `must be 1 to ${MAX_WAITS} whole seconds from 0 to ${MAX_WAIT_S}, or "day"`;

/**
 * Schema of the waits before the attempts of a callback: a list of seconds, or the word `day`. Its value is the waits in
 * milliseconds.
 */
export const CallbackSchedule = z.pipe(
  z.union(
    [z.literal("day"), listOf(z.int().check(z.minimum(0), z.maximum(MAX_WAIT_S)), MAX_WAITS)],
    FORM,
  ),
  z.transform((schedule): readonly number[] =>
    schedule === "day" ? DAY_SCHEDULE_MS : schedule.map(inMs),
  ),
);

/**
 * Returns the waits in the text of the header `Relay-Callback-Schedule` in the form that `CallbackSchedule` takes.
 * @param numberOf returns the number that a text spells; undefined for a text that spells none.
 */
export function scheduleIn(text: string, numberOf: (text: string) => number | undefined): unknown {
  return text === "day" ? text : text.split(",").map((wait) => numberOf(wait.trim()));
}

/**
 * Checks that the waits of a schedule together are not longer than finished tasks are stored.
 * @param path place of the schedule in the request.
 * @throws Problem `invalid_request` when they are.
 * @returns the schedule as a member of a registration; without a schedule there is no such member.
 */
export function requireSchedule(
  scheduleMs: readonly number[] | null,
  { retentionMs }: Pick<Config, "retentionMs">,
  path: string,
): { readonly callbackScheduleMs?: readonly number[] } {
  if (scheduleMs === null) return {};
  if (scheduleMs.reduce((sum, waitMs) => sum + waitMs, 0) > retentionMs) {
    const days = retentionMs / DAY_MS;
    const message = `must be at most RETENTION_DAYS (${days}) in total`;
    throw invalidRequest([{ path, message }]);
  }
  return { callbackScheduleMs: scheduleMs };
}

function inMs(waitS: number): number {
  return waitS * SECOND_MS;
}

export const SECOND_MS = 1_000;
export const MINUTE_MS = 60 * SECOND_MS;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;
export const HOUR_S = HOUR_MS / SECOND_MS;
export const DAY_S = DAY_MS / SECOND_MS;

/** Returns a time in Unix milliseconds as whole Unix seconds, rounded down. */
export function toSeconds(ms: number): number {
  return Math.floor(ms / SECOND_MS);
}

const DAYS_IN_400_YEARS = 146_097;
/** Number of days from 1 March of the year 0 to 1970-01-01. */
const DAYS_BEFORE_1970 = 719_468;

/**
 * Returns the beginning of the month (UTC) of a time, both in Unix milliseconds. The days of a year are counted from
 * March on, so that the leap day is the last one and every month begins at a multiple of 30.6 days, rounded
 * (https://howardhinnant.github.io/date_algorithms.html#civil_from_days).
 */
export function monthStart(time: number): number {
  const today = Math.floor(time / DAY_MS);
  const day = (today + DAYS_BEFORE_1970) % DAYS_IN_400_YEARS;
  const leapDays = Math.floor(day / 1460) - Math.floor(day / 36_524) + Math.floor(day / 146_096);
  const year = Math.floor((day - leapDays) / 365);
  const dayOfYear = day - (365 * year + Math.floor(year / 4) - Math.floor(year / 100));
  const month = Math.floor((5 * dayOfYear + 2) / 153);
  const dayOfMonth = dayOfYear - Math.floor((153 * month + 2) / 5);
  return (today - dayOfMonth) * DAY_MS;
}

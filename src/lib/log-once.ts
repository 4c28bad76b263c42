import { isolateCache } from "./isolate-cache.ts";
import { log, type LogLevel, type LogLine } from "./log.ts";

/** Subjects about which this isolate has logged a line within the last minute. */
const recentLines = isolateCache<true>();

/**
 * Writes a log line unless this isolate has written one about the same subject within the last minute.
 * @param subject what the line is about, e.g. a rate limit together with the account that has reached it.
 */
export function logOnceAMinute(
  subject: string,
  line: LogLine,
  level: Exclude<LogLevel, "detail"> = "info",
): void {
  if (recentLines.has(subject)) return;
  recentLines.set(subject, true);
  log(line, level);
}

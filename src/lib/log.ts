/**
 * A structured log line. It never contains payloads, query strings or secrets: only ids, outcomes and
 * durations.
 */
export interface LogLine {
  readonly event: string;
  readonly [field: string]: string | number | boolean | null;
}

/**
 * Level of a log line:
 * - `detail`: a normal and frequent event, e.g. a step of a task. It is written only with `LOG=all`, and then as
 *   `info`.
 * - `info`: a normal event that is always written.
 * - `warn`: another service (a receiver, an upstream, the index) has failed, and the relay goes on.
 * - `error`: the relay itself has failed, or needs its operator.
 */
export type LogLevel = "detail" | "info" | "warn" | "error";

/** Settings of the log, which decide whether lines of the level `detail` are written. */
export interface LogSettings {
  /** True with `LOG=all`: lines of the level `detail` are written. */
  readonly logsDetails: boolean;
}

const METHOD = { info: "log", warn: "warn", error: "error" } as const;

/**
 * Id of the deployed version. Every log line contains it, because several versions write lines during a gradual
 * deployment. Null means that the lines contain no id.
 */
let version: string | null = null;

/** Sets the id of the deployed version that every later log line contains; null removes it. */
export function nameVersion(id: string | null): void {
  version = id;
}

/** Writes one line as JSON to the log. An operator can filter the log by the level of the lines. */
export function log(line: LogLine, level: Exclude<LogLevel, "detail"> = "info"): void {
  console[METHOD[level]](JSON.stringify(version === null ? line : { ...line, version }));
}

/**
 * Writes one log line at the given level. A line of the level `detail` is written only when `settings` say so.
 * @param line returns the line. It is called only when the line is written.
 */
export function logAs(level: LogLevel, line: () => LogLine, { logsDetails }: LogSettings): void {
  if (level !== "detail") log(line(), level);
  else if (logsDetails) log(line());
}

/** Returns the name and the message of a thrown error for a log line; of an error that gathers several, of the first. */
export function errorText(error: unknown): string {
  if (error instanceof AggregateError) return errorText(error.errors[0]);
  return error instanceof Error ? `${error.name}: ${error.message}` : "unknown";
}

/**
 * Returns fields for a log line about a thrown error: its name, its message, and where it was thrown, i.e. the
 * functions of its stack, one on each line. The file of a deployed Worker is minified, so only operations and the
 * handlers of routes and pages have their names in the stack.
 */
export function errorFields(error: unknown) {
  const lines = error instanceof Error ? (error.stack ?? "").split("\n") : [];
  const frames = lines.map((line) => line.trim()).filter((line) => line.startsWith("at "));
  return { error: errorText(error), stack: frames.join("\n") };
}

/**
 * Returns the name of a thrown error without its message. It is for errors whose message may contain data that the log
 * must not contain.
 */
export function errorName(error: unknown): string {
  return error instanceof Error ? error.name : "unknown";
}

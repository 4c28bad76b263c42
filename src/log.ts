/**
 * A structured log line. It never contains payloads, query strings or secrets: only ids, outcomes and
 * durations.
 */
export interface LogLine {
  readonly event: string;
  readonly [field: string]: string | number | boolean | null;
}

/**
 * Level of a log line. `detail`: a normal step, written only with `LOG=all` and then like `info`. `warn`:
 * another service failed (a receiver, an upstream, the index) and the relay goes on. `error`: the relay
 * itself failed or needs its operator.
 */
export type LogLevel = "detail" | "info" | "warn" | "error";

/** Setting that decides whether lines of the level `detail` are written. */
export interface LogSettings {
  /** States that normal steps are logged, too. */
  readonly logsDetails: boolean;
}

const METHOD = { info: "log", warn: "warn", error: "error" } as const;

/** Id of the deployed version, for gradual deployments, in which several versions write lines. */
let version: string | null = null;

/** Sets the version that every line names from now on; null for none. */
export function nameVersion(id: string | null): void {
  version = id;
}

/** Writes one log line as JSON at the given level, so that an operator can filter by level. */
export function log(line: LogLine, level: Exclude<LogLevel, "detail"> = "info"): void {
  console[METHOD[level]](JSON.stringify(version === null ? line : { ...line, version }));
}

/** Writes one log line; a line of the level `detail` only when the settings include details. */
export function logAs(level: LogLevel, line: LogLine, { logsDetails }: LogSettings): void {
  if (level !== "detail") log(line, level);
  else if (logsDetails) log(line);
}

/** Describes a thrown value for a log line. */
export function errorText(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : "unknown";
}

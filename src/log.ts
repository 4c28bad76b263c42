/**
 * One structured log line. It never contains payloads, query strings or secrets: only ids, outcomes and
 * durations.
 */
export interface LogLine {
  readonly event: string;
  readonly [field: string]: string | number | boolean | null;
}

/**
 * `warn`: somebody else failed (a receiver, an upstream, the index) and the relay goes on. `error`: the
 * relay itself failed or needs its operator.
 */
export type LogLevel = "info" | "warn" | "error";

const METHOD = { info: "log", warn: "warn", error: "error" } as const;

/** Writes one line of JSON at the given level, so that an operator can filter by level. */
export function log(line: LogLine, level: LogLevel = "info"): void {
  console[METHOD[level]](JSON.stringify(line));
}

/** Describes something thrown, for a log line. */
export function errorText(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : "unknown";
}

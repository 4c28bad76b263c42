/**
 * A structured log line. It never contains payloads, query strings or secrets: only ids, outcomes and
 * durations.
 */
export interface LogLine {
  readonly event: string;
  readonly [field: string]: string | number | boolean | null;
}

/**
 * Level of a log line. `warn`: another service failed (a receiver, an upstream, the index) and the relay
 * goes on. `error`: the relay itself failed or needs its operator.
 */
export type LogLevel = "info" | "warn" | "error";

const METHOD = { info: "log", warn: "warn", error: "error" } as const;

/** Writes one log line as JSON at the given level, so that an operator can filter by level. */
export function log(line: LogLine, level: LogLevel = "info"): void {
  console[METHOD[level]](JSON.stringify(line));
}

/** Describes a thrown value for a log line. */
export function errorText(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : "unknown";
}

/**
 * One structured line. Never payloads, query strings or secrets: ids, outcomes and durations only.
 */
export interface LogLine {
  readonly event: string;
  readonly [field: string]: string | number | boolean | null;
}

export function log(line: LogLine): void {
  console.log(JSON.stringify(line));
}

/** What a log may say about something thrown. */
export function errorText(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : "unknown";
}

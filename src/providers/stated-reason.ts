import { isOnlyLinks } from "./failure-words.ts";
import { type Observation, phaseIn } from "./observation.ts";
import { phaseOf } from "./phase.ts";

/**
 * Names of the members in which upstreams state why a job has failed, the most exact ones first. They are compared in
 * lower case and without `_`.
 */
const NAMES: readonly string[] = [
  "exceptionmessage",
  "failurereason",
  "failreason",
  "failedreason",
  "errormessage",
  "errormsg",
  "errmsg",
  "failmsg",
  "statusmessage",
  "statusmsg",
  "taskstatusmsg",
  "message",
  "msg",
  "reason",
  "detail",
  "error",
  "exception",
];
/**
 * Pattern of the names of members that repeat the request. Their texts come from the caller and not from the upstream.
 */
const OF_REQUEST =
  /^(?:inputs?|requests?|params?|parameters?|prompts?|options|config|settings|arguments)$/;
const MAX_DEPTH = 5;

/** Names of members in which upstreams give the log that the program of a job has written. */
const LOG_NAMES: readonly string[] = ["logs", "log"];
/**
 * Patterns of the words in a line of a log: those that report a failure (`TELLS_FAILURE`), and those that only warn
 * (`WARNS`).
 */
const TELLS_FAILURE =
  /\b(?:error|exception|fail(?:ed|ure|s)?|violat(?:ed|es|ion)|rejected|refused|denied|invalid|unable to|cannot|could not)\b|[a-z](?:Error|Exception)\b/i;
const WARNS = /\bwarn(?:ing)?\b|Warning\b|\bdeprecated\b|^\W*(?:info|debug)\b/i;
/** Largest length in characters of a line of a log that counts as a reason. */
const MAX_LINE_CHARS = 500;

/** Names of the members in which upstreams state whether a retry helps, compared in lower case and without `_`. */
const RETRY_NAMES: readonly string[] = [
  "retryable",
  "isretryable",
  "canretry",
  "shouldretry",
  "retriable",
  "isretriable",
];

/**
 * Returns the text in which a report, of any form, says why its job has failed. It is the first text in a member with a
 * usual name; outer members are searched before inner ones, and members that repeat the request are skipped. Words for
 * states (`failed`, `success`) and links are no reason. Null when there is no such text.
 */
export function reasonIn(report: unknown): string | null {
  return firstIn(report, NAMES, (value) => (isReason(value) ? value : null));
}

/**
 * Returns the last line of the log in a report on a failed job, if that line reports a failure. Null for any other
 * line, e.g. one about progress.
 */
function failureInLog(report: unknown): string | null {
  return firstIn(report, LOG_NAMES, (log) => {
    if (typeof log !== "string") return null;
    const end = log.trimEnd().slice(-MAX_LINE_CHARS - 1);
    const line = end.split(/[\r\n]/).at(-1) ?? "";
    const isWhole = line.length <= MAX_LINE_CHARS;
    return isWhole && TELLS_FAILURE.test(line) && !WARNS.test(line) ? line.trim() : null;
  });
}

/**
 * Returns whether a retry helps, if a report states it in a member with a usual name. Null when the report does not
 * state it.
 */
function retryWordIn(report: unknown): boolean | null {
  return firstIn(report, RETRY_NAMES, (value) => {
    if (value === true || value === "true") return true;
    return value === false || value === "false" ? false : null;
  });
}

/**
 * Searches a report for members with these names and returns the first value that `read` accepts. Outer members are
 * searched before inner ones, and earlier names before later ones. Null when there is none.
 */
function firstIn<T>(
  report: unknown,
  names: readonly string[],
  read: (value: unknown) => T | null,
): T | null {
  let level = objectsIn([report]);
  for (let depth = 0; depth < MAX_DEPTH && level.length > 0; depth++) {
    const entries = level.flatMap((value) => Object.entries(value)).map(named);
    for (const name of names) {
      const values = entries.filter((entry) => entry.name === name).map(({ value }) => read(value));
      const found = values.find((value) => value !== null);
      if (found !== undefined) return found;
    }
    const inner = entries.filter(({ name }) => !OF_REQUEST.test(name));
    level = objectsIn(inner.map(({ value }) => value));
  }
  return null;
}

function named([name, value]: [string, unknown]) {
  return { name: name.replaceAll(/[_-]/g, "").toLowerCase(), value };
}

function isReason(value: unknown): value is string {
  if (typeof value !== "string" || value.trim() === "") return false;
  return phaseOf(value.trim()) === null && !isOnlyLinks(value);
}

function objectsIn(values: readonly unknown[]): readonly object[] {
  return values.filter((value) => typeof value === "object" && value !== null);
}

/**
 * Returns the report on a failed job, completed from the whole answer or hook: with the reason if the adapter has found
 * none, and with whether a retry helps if the adapter has not found this. A log counts only when there is no other
 * reason and no error code.
 */
export function withReason(observation: Observation, report: unknown): Observation {
  if (phaseIn(observation) !== "failed") return observation;
  const { error } = observation;
  const text = error?.text ?? null;
  const reason = completedReason(error, report);
  const isRetryable = error?.isRetryable ?? retryWordIn(report);
  if (reason === text && isRetryable === null) return observation;
  const read = { code: null, ...error, text: reason };
  return { ...observation, error: isRetryable === null ? read : { ...read, isRetryable } };
}

/**
 * Returns the reason of a failure that the adapter has found or, if it has found none, the reason that the report
 * states elsewhere.
 */
function completedReason(error: Observation["error"], report: unknown): string | null {
  const { code = null, text = null } = error ?? {};
  if (text !== null && !isOnlyLinks(text)) return text;
  return reasonIn(report) ?? (code === null ? failureInLog(report) : null) ?? text;
}

import { isOnlyLinks } from "./failure-words.ts";
import { type Observation, phaseIn } from "./observation.ts";
import { phaseOf } from "./phase.ts";

/** Names under which upstreams say why a job has failed, the most exact first. Capitals and `_` do not matter. */
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
/** Names of members that repeat the request, whose words are those of the caller. */
const OF_REQUEST =
  /^(?:inputs?|requests?|params?|parameters?|prompts?|options|config|settings|arguments)$/;
const MAX_DEPTH = 5;

/** Names under which upstreams say whether a retry helps. */
const RETRY_NAMES: readonly string[] = [
  "retryable",
  "isretryable",
  "canretry",
  "shouldretry",
  "retriable",
  "isretriable",
];

/**
 * Returns the text in which a report says why its job has failed, whatever its form: the first one under a usual name,
 * searched level by level, outside of what repeats the request. Words for states (`failed`, `success`) and links give no
 * reason. Null when there is none.
 */
export function reasonIn(report: unknown): string | null {
  return firstIn(report, NAMES, (value) => (isReason(value) ? value : null));
}

/** Returns what a report says on whether a retry helps, searched like a reason. Null when it says nothing. */
function retryWordIn(report: unknown): boolean | null {
  return firstIn(report, RETRY_NAMES, (value) => {
    if (value === true || value === "true") return true;
    return value === false || value === "false" ? false : null;
  });
}

/** Returns what `read` finds first under the names, in their order, level by level. Null when it finds nothing. */
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
 * Returns a report on a failed job, completed where the adapter has read no reason, or not whether a retry helps, by
 * what the report states elsewhere.
 */
export function withReason(observation: Observation, report: unknown): Observation {
  if (phaseIn(observation) !== "failed") return observation;
  const { error } = observation;
  const text = error?.text ?? null;
  const hasReason = text !== null && !isOnlyLinks(text);
  const reason = hasReason ? text : (reasonIn(report) ?? text);
  const isRetryable = error?.isRetryable ?? retryWordIn(report);
  if (reason === text && isRetryable === null) return observation;
  const read = { code: null, ...error, text: reason };
  return { ...observation, error: isRetryable === null ? read : { ...read, isRetryable } };
}

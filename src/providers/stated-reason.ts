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

/**
 * Returns the text in which a report says why its job has failed, whatever its form: the first one under a usual name,
 * searched level by level, outside of what repeats the request. Words for states (`failed`, `success`) and links give no
 * reason. Null when there is none.
 */
export function reasonIn(report: unknown): string | null {
  let level: readonly object[] = objectsIn([report]);
  for (let depth = 0; depth < MAX_DEPTH && level.length > 0; depth++) {
    const entries = level.flatMap((value) => Object.entries(value)).map(named);
    for (const name of NAMES) {
      const found = entries.find((entry) => entry.name === name && isReason(entry.value));
      if (typeof found?.value === "string") return found.value;
    }
    const inner = entries.filter(({ name }) => !OF_REQUEST.test(name));
    level = objectsIn(inner.map(({ value }) => value));
  }
  return null;
}

function named([name, value]: [string, unknown]) {
  return { name: name.replaceAll(/[_-]/g, "").toLowerCase(), value };
}

function isReason(value: unknown): boolean {
  if (typeof value !== "string" || value.trim() === "") return false;
  return phaseOf(value.trim()) === null && !isOnlyLinks(value);
}

function objectsIn(values: readonly unknown[]): readonly object[] {
  return values.filter((value) => typeof value === "object" && value !== null);
}

/** Returns a report on a failed job with the reason that it states anywhere, where the adapter has read none. */
export function withReason(observation: Observation, report: unknown): Observation {
  const text = observation.error?.text ?? null;
  const hasReason = text !== null && !isOnlyLinks(text);
  const reason = hasReason || phaseIn(observation) !== "failed" ? null : reasonIn(report);
  if (reason === null) return observation;
  return { ...observation, error: { code: null, ...observation.error, text: reason } };
}

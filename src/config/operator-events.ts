import { failure, type Result, success } from "../core/result.ts";
import { NOTICE_KINDS } from "../core/record/operator-notice.ts";

/**
 * Types of all operator events, i.e. of messages to `OPERATOR_CALLBACK_URL`. Some are about one task; the others are
 * not.
 */
export const OPERATOR_EVENT_TYPES = [
  ...NOTICE_KINDS,
  "account.low_balance",
  "host.failing",
  "provider.unauthorized",
  "provider.funds",
  "index.lagging",
  "index.full",
  "events.silent",
] as const;

/**
 * Parses `OPERATOR_EVENTS`: the types of events that the operator wants, separated by white space or commas.
 * @returns the types that are not to be sent: those that the variable does not list. An empty variable means that all
 * types are sent.
 */
export function parseOperatorEvents(value: string): Result<ReadonlySet<string>, string> {
  const words = new Set(value.split(/[\s,]+/).filter((word) => word !== ""));
  const others = OPERATOR_EVENT_TYPES.filter((type) => words.size > 0 && !words.has(type));
  if (words.size === 0 || words.size + others.length === OPERATOR_EVENT_TYPES.length) {
    return success(new Set(others));
  }
  return failure(`must be some of ${OPERATOR_EVENT_TYPES.join(", ")}, space-separated`);
}

/** The part of the configuration that decides which operator events are sent. */
interface OperatorEventsConfig {
  readonly operatorCallbackUrl: string | null;
  readonly unwantedEvents: ReadonlySet<string>;
}

/** Tells whether operator events of this type are sent. */
export function isWanted(
  { operatorCallbackUrl, unwantedEvents }: OperatorEventsConfig,
  type: (typeof OPERATOR_EVENT_TYPES)[number],
): boolean {
  return operatorCallbackUrl !== null && !unwantedEvents.has(type);
}

import type { Policy } from "../policy.ts";
import type { ChosenEndpoint, EndpointCopy } from "./endpoint-copy.ts";

/**
 * What a task has stored about its callback besides the URL. It is stored when the task is registered, so that later
 * changes of the settings and of the endpoint do not change it.
 */
export interface CallbackTerms {
  /**
   * Waits before the attempts, in milliseconds, in place of those in the settings (`Settings.scheduleMs`). Absent when
   * the settings decide.
   */
  readonly scheduleMs?: readonly number[];
  /** The endpoint that receives the callback, as it was then. Absent when the receiver is a URL alone. */
  readonly endpoint?: EndpointCopy;
}

/** The receiver of a callback: a URL, with what the task stores about it. */
export interface CallbackTarget {
  readonly url: string;
  /** What the task has stored about its callback besides the URL. Absent when only the settings decide. */
  readonly terms?: CallbackTerms;
}

/**
 * Returns the waits before the attempts of a callback, in milliseconds, each counted from the end of the previous
 * attempt: those of the task or, when it has none, those in the settings. There are as many automatic attempts as waits.
 */
export function scheduleOf(
  { terms }: { readonly terms?: CallbackTerms },
  { scheduleMs }: Pick<Policy, "scheduleMs">,
): readonly number[] {
  return terms?.scheduleMs ?? scheduleMs;
}

/**
 * Returns the receiver of a task's callback as members of the record of a new task: the endpoint, or else the URL that
 * its creator has stated.
 * @param scheduleMs schedule that the creator has stated; it takes precedence over that of the endpoint.
 */
export function startOfCallback(
  callbackUrl: string | null,
  scheduleMs: readonly number[] | undefined,
  endpoint: ChosenEndpoint | undefined,
): { readonly callbackUrl: string | null; readonly callbackTerms?: CallbackTerms } {
  const terms = termsWith(scheduleMs ?? endpoint?.scheduleMs, endpoint?.copy);
  return {
    callbackUrl: endpoint?.url ?? callbackUrl,
    ...(terms !== undefined && { callbackTerms: terms }),
  };
}

/**
 * Returns the receiver of a redelivery. A URL other than the present one gets nothing of the endpoint: neither its
 * headers nor signatures with its secret.
 * @param present receiver so far; null when the task has none.
 * @param callbackUrl URL that the order names; null for the present receiver.
 * @param endpoint endpoint that the order names; undefined when it names none.
 * @returns null when there is no receiver.
 */
export function targetOfRedelivery(
  present: CallbackTarget | null,
  callbackUrl: string | null,
  endpoint: ChosenEndpoint | undefined,
): CallbackTarget | null {
  const scheduleMs = present?.terms?.scheduleMs;
  if (endpoint !== undefined) {
    return targetWith(endpoint.url, termsWith(endpoint.scheduleMs ?? scheduleMs, endpoint.copy));
  }
  if (callbackUrl === null || callbackUrl === present?.url) return present;
  return targetWith(callbackUrl, termsWith(scheduleMs, undefined));
}

/** Returns the endpoint that receives a callback, as a member. Without one there is no such member. */
export function endpointOf(terms: CallbackTerms | undefined): Pick<CallbackTerms, "endpoint"> {
  return terms?.endpoint === undefined ? {} : { endpoint: terms.endpoint };
}

/** Tells whether the receiver of a task's callback is to be told of this end of the task. */
export function takesEnd(
  terms: CallbackTerms | undefined,
  status: "completed" | "failed",
): boolean {
  return terms?.endpoint === undefined || terms.endpoint.events.includes(status);
}

function targetWith(url: string, terms: CallbackTerms | undefined): CallbackTarget {
  return { url, ...(terms !== undefined && { terms }) };
}

function termsWith(
  scheduleMs: readonly number[] | undefined,
  endpoint: EndpointCopy | undefined,
): CallbackTerms | undefined {
  if (scheduleMs === undefined && endpoint === undefined) return undefined;
  return {
    ...(scheduleMs !== undefined && { scheduleMs }),
    ...(endpoint !== undefined && { endpoint }),
  };
}

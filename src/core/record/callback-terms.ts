import type { Policy } from "../policy.ts";
import type { CallbackEvents } from "./callback-events.ts";
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
  /** Events of which the receiver is told. Absent for `completed` and `failed`. */
  readonly events?: CallbackEvents;
  /** The endpoint that receives the callback, as it was then. Absent when the receiver is a URL alone. */
  readonly endpoint?: EndpointCopy;
}

/** The receiver of a callback: a URL, with what the task stores about it. */
export interface CallbackTarget {
  readonly url: string;
  /** Schedule, events and endpoint as the task has stored them. Absent when only the settings decide. */
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

/** Schedule and events of a callback as the creator of the task has stated them. */
export interface StatedTerms {
  /** Waits before the attempts of the callback, in milliseconds. Absent when none were stated. */
  readonly callbackScheduleMs?: readonly number[];
  /** Events of which the receiver of the callback is told. Absent for `completed` and `failed`. */
  readonly callbackEvents?: CallbackEvents;
}

/**
 * Returns the receiver of a task's callback as members of the record of a new task: the endpoint, or else the URL that
 * its creator has stated. The schedule and the events that the creator has stated take precedence over those of the
 * endpoint.
 */
export function startOfCallback(
  stated: StatedTerms & { readonly callbackUrl: string | null },
  endpoint: ChosenEndpoint | undefined,
): { readonly callbackUrl: string | null; readonly callbackTerms?: CallbackTerms } {
  const scheduleMs = stated.callbackScheduleMs ?? endpoint?.scheduleMs;
  const events = stated.callbackEvents ?? endpoint?.events;
  const terms = termsWith(scheduleMs, events, endpoint?.copy);
  return {
    callbackUrl: endpoint?.url ?? stated.callbackUrl,
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
  const { scheduleMs, events } = present?.terms ?? {};
  if (endpoint !== undefined) {
    const { copy, url } = endpoint;
    return targetWith(url, termsWith(endpoint.scheduleMs ?? scheduleMs, events, copy));
  }
  if (callbackUrl === null || callbackUrl === present?.url) return present;
  return targetWith(callbackUrl, termsWith(scheduleMs, events, undefined));
}

/** Tells whether two receivers are equal in all that the task stores: their URL, endpoint, waits and events. */
export function isSameTarget(a: CallbackTarget, b: CallbackTarget): boolean {
  // The members of the terms are always in the same order.
  return a.url === b.url && JSON.stringify(a.terms) === JSON.stringify(b.terms);
}

/**
 * Tells whether requests to two receivers are equal: they go to the same URL, with the same headers and secret. The
 * waits and events of the receivers may differ.
 */
export function isSameReceiver(a: CallbackTarget, b: CallbackTarget): boolean {
  const [one, other] = [a, b].map(({ terms }) => JSON.stringify(terms?.endpoint));
  return a.url === b.url && one === other;
}

/** Returns the endpoint that receives a callback, as a member. Without one there is no such member. */
export function endpointOf(terms: CallbackTerms | undefined): Pick<CallbackTerms, "endpoint"> {
  return terms?.endpoint === undefined ? {} : { endpoint: terms.endpoint };
}

function targetWith(url: string, terms: CallbackTerms | undefined): CallbackTarget {
  return { url, ...(terms !== undefined && { terms }) };
}

function termsWith(
  scheduleMs: readonly number[] | undefined,
  events: CallbackEvents | undefined,
  endpoint: EndpointCopy | undefined,
): CallbackTerms | undefined {
  const terms = {
    ...(scheduleMs !== undefined && { scheduleMs }),
    ...(events !== undefined && { events }),
    ...(endpoint !== undefined && { endpoint }),
  };
  return Object.keys(terms).length === 0 ? undefined : terms;
}

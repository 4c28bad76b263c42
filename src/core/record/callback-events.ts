/**
 * Events of a task of which a receiver of callbacks may be told: that the task has completed, that it has failed, and how
 * far its job is while it runs.
 */
export const CALLBACK_EVENTS = ["completed", "failed", "progress"] as const;

export type CallbackEvent = (typeof CALLBACK_EVENTS)[number];

/** Events that a receiver takes, in the order of `CALLBACK_EVENTS`. */
export type CallbackEvents = readonly CallbackEvent[];

/** Events that a receiver takes for which none are stated. */
const DEFAULT_EVENTS: CallbackEvents = ["completed", "failed"];

/** Returns events in the order of `CALLBACK_EVENTS`. */
export function eventsInOrder(events: CallbackEvents): CallbackEvents {
  return CALLBACK_EVENTS.filter((event) => events.includes(event));
}

/**
 * Returns the events that a request states as a member of a registration. There is no such member when none are stated,
 * and when those stated are the default.
 */
export function statedEvents(events: CallbackEvents | null): {
  readonly callbackEvents?: CallbackEvents;
} {
  if (events === null || events.join() === DEFAULT_EVENTS.join()) return {};
  return { callbackEvents: events };
}

/** Tells whether a receiver takes an event. @param events events that it takes; undefined for the default. */
export function takes(events: CallbackEvents | undefined, event: CallbackEvent): boolean {
  return (events ?? DEFAULT_EVENTS).includes(event);
}

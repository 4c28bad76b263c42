import * as z from "zod/mini";
import {
  CALLBACK_EVENTS,
  type CallbackEvents,
  eventsInOrder,
} from "../../core/record/callback-events.ts";

const FORM = `must be 1 to ${CALLBACK_EVENTS.length} of ${CALLBACK_EVENTS.join(", ")}, each once`;

/**
 * Schema of the events of which a receiver of callbacks is told. Its value has them in the order of `CALLBACK_EVENTS`.
 */
export const CallbackEventList = z.pipe(
  z.array(z.enum(CALLBACK_EVENTS), FORM).check(
    z.minLength(1, FORM),
    z.refine((events) => new Set(events).size === events.length, FORM),
  ),
  z.transform((events): CallbackEvents => eventsInOrder(events)),
);

/** Returns the events in the text of a header in the form that `CallbackEventList` takes. */
export function eventsIn(text: string): readonly string[] {
  return text.split(",").map((event) => event.trim());
}

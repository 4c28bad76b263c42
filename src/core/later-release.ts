/**
 * Text in the error of a record or an event that only a later release knows. Callers of an object recognise
 * the error by it, because they receive only the message.
 */
export const OF_A_LATER_RELEASE = "of a later release";

/**
 * Text in the message of the error that a Durable Object throws for a record or an event which only a later
 * release knows. Callers of the object recognise the error by this text, because they receive only the
 * message.
 */
export const OF_A_LATER_RELEASE = "of a later release";

/**
 * Text in the message of the error that a Durable Object throws when a record or an event has a form that only a
 * later release of the relay knows. Callers recognise the error by this text, because only the message of an error
 * reaches them.
 */
export const OF_A_LATER_RELEASE = "of a later release";

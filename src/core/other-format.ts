/**
 * Texts that mark, in the message of an error of a Durable Object, a record or an event in a format that this build
 * does not read. Callers recognise the error by these texts, because only the message of an error reaches them.
 */

/** Marks a record or an event in a form that only a later release of the relay knows. */
export const OF_A_LATER_RELEASE = "of a later release";

/** Marks a record in a form of a build before 1.0.0, which no release reads. */
export const OF_AN_EARLIER_BUILD = "of a build before 1.0.0";

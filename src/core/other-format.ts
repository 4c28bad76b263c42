/**
 * Texts by which the caller of a Durable Object recognises that the object has met a record or an event in a format
 * that this build does not read. They stand in the message of the error, because only the message of an error reaches
 * the caller.
 */

/** Text in an error message about a record or an event whose format only a later release of the relay knows. */
export const OF_A_LATER_RELEASE = "of a later release";

/** Text in an error message about a record in a format that no release reads: that of a build before 1.0.0. */
export const OF_AN_EARLIER_BUILD = "of a build before 1.0.0";

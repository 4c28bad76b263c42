import { OF_A_LATER_RELEASE, OF_AN_EARLIER_BUILD } from "../../core/other-format.ts";

/**
 * Properties that the platform sets to true on the error of a failed call to a Durable Object. When several are set,
 * the first in this list names the failure in the log.
 */
const FLAGS = ["overloaded", "durableObjectReset", "retryable"] as const;

/** Name in the log for the failure of an object whose record a build before 1.0.0 has stored and no release reads. */
export const STORED_BY_EARLIER_BUILD = "stored_by_earlier_build";

/**
 * Parts of known error texts, each with the name of the failure for the log. The errors come from the platform, or
 * from objects that run an older or newer release. Most of them have no property that tells the failure.
 */
const TEXTS: readonly (readonly [text: string, failure: string])[] = [
  [OF_A_LATER_RELEASE, "later_release"],
  [OF_AN_EARLIER_BUILD, STORED_BY_EARLIER_BUILD],
  // The object runs an older release than this Worker, for some minutes after a deployment.
  ["does not implement the method", "earlier_release"],
  ["in Durable Objects free tier", "free_plan_quota"],
  ["spending cap", "spending_limit"],
  ["generating too much load", "account_overloaded"],
  ["is overloaded", "overloaded"],
  ["no longer active", "object_replaced"],
  ["code was updated", "object_replaced"],
  ["code has been updated", "object_replaced"],
  ["exceeded its memory limit", "memory_exceeded"],
  ["exceeded its CPU time limit", "cpu_time_exceeded"],
  ["storage operation exceeded timeout", "storage_timeout"],
  ["Network connection lost", "connection_lost"],
  ["transient issue on remote node", "connection_lost"],
  // Also storage that is full or cannot be opened.
  ["internal error; reference = ", "platform_error"],
  ["Internal error in Durable Object storage", "platform_error"],
];

/**
 * Returns a name, for the log, of a failure of the platform or of an object that runs another release.
 * @returns null for any other error, which is a bug.
 */
export function platformFailureOf(error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  const known = TEXTS.find(([text]) => error.message.includes(text));
  return known?.[1] ?? FLAGS.find((flag) => Reflect.get(error, flag) === true) ?? null;
}

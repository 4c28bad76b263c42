import { OF_A_LATER_RELEASE } from "../../task/record-schema.ts";
import { Problem } from "./problem.ts";

const RETRY_AFTER_S = "2";
/** Properties that the platform sets to true on the errors of a failed object. */
const PLATFORM_FLAGS = ["overloaded", "retryable", "durableObjectReset"];
/**
 * Texts in platform errors that set none of `PLATFORM_FLAGS`. "internal error" covers storage that is full
 * or cannot be opened.
 */
const PLATFORM_MESSAGES = ["Network connection lost", "internal error; reference = "];

/** Calls a Durable Object. @throws Problem `unavailable` when the object cannot be reached. */
export async function callObject<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (isOfALaterRelease(error)) throw unavailable("A later release has stored this task.");
    if (!isPlatformFailure(error)) throw error;
    throw unavailable("The relay could not reach its own storage.");
  }
}

export function unavailable(detail: string): Problem {
  return new Problem("unavailable", {
    detail: `${detail} Try again.`,
    headers: { "Retry-After": RETRY_AFTER_S },
  });
}

/** Recognises a failure of the platform: overload, a reset object, a lost connection, failed storage. */
function isPlatformFailure(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return (
    PLATFORM_FLAGS.some((flag) => Reflect.get(error, flag) === true) ||
    PLATFORM_MESSAGES.some((text) => error.message.includes(text))
  );
}

/**
 * Recognises the error of a record that a later release has written. After a roll-back the record is
 * readable again once that release is back.
 */
function isOfALaterRelease(error: unknown): boolean {
  return error instanceof Error && error.message.includes(OF_A_LATER_RELEASE);
}

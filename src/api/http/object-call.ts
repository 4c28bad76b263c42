import { OF_A_LATER_RELEASE } from "../../task/record-schema.ts";
import { Problem } from "./problem.ts";

const RETRY_AFTER_S = "2";
/** Without a flag; the second is all that is said of storage that is full or cannot be opened. */
const PLATFORM_SAYS = ["Network connection lost", "internal error; reference = "];

/** The answer of an object. @throws Problem `unavailable` when the object cannot be reached. */
export async function callObject<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
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

/** Overload, a reset of the object, a lost connection, storage that fails: the platform's, not ours. */
function isPlatformFailure(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const flags = ["overloaded", "retryable", "durableObjectReset"];
  return (
    flags.some((flag) => Reflect.get(error, flag) === true) ||
    PLATFORM_SAYS.some((text) => error.message.includes(text))
  );
}

/** After a roll-back; the object waits for the later release, and so may the caller. */
function isOfALaterRelease(error: unknown): boolean {
  return error instanceof Error && error.message.includes(OF_A_LATER_RELEASE);
}

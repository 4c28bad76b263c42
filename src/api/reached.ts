import { Problem } from "./problem.ts";

const RETRY_AFTER_S = "2";

/** The answer of an object. @throws Problem `unavailable` when the object cannot be reached. */
export async function reached<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
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

/** Overload, a reset of the object or a lost connection: the platform's, not ours. */
function isPlatformFailure(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const flags = ["overloaded", "retryable", "durableObjectReset"];
  return (
    flags.some((flag) => Reflect.get(error, flag) === true) ||
    error.message.includes("Network connection lost")
  );
}

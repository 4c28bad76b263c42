import { errorText } from "../../lib/log.ts";
import { platformFailureOf, STORED_BY_EARLIER_BUILD } from "./object-failure.ts";
import { Problem } from "./problem.ts";

const RETRY_AFTER_S = "2";
/**
 * Seconds after which a caller is asked to repeat a request about something that an earlier build has stored. The
 * request cannot succeed before an operator has acted.
 */
const RETRY_AFTER_DEPLOYMENT_S = "60";

/**
 * Error for a failed call to a Durable Object when the failure is none of the platform's known ones. The cause is most
 * likely a bug of the relay.
 */
export class UnknownObjectError extends Error {
  override readonly name = "UnknownObjectError";
}

/**
 * Calls a Durable Object, and converts a failure of the platform to a problem.
 * @throws Problem `unavailable` when the platform fails, or when the Worker and the object run different releases that
 * do not understand each other; `stored_by_earlier_build` when a build before 1.0.0 has stored the object's record.
 */
export async function callObject<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    const failure = platformFailureOf(error);
    if (failure === null) throw new UnknownObjectError(errorText(error));
    if (failure === STORED_BY_EARLIER_BUILD) throw storedByEarlierBuild("this task");
    const isLater = failure === "later_release";
    const detail = isLater ? "A later release has stored this task." : UNREACHABLE;
    throw unavailable(detail, failure);
  }
}

export const UNREACHABLE = "The relay could not reach its own storage.";

/**
 * Returns the problem `unavailable`, which asks the caller to try again.
 * @param reason cause of the failure, e.g. `free_plan_quota`, which is logged and not shown to the caller.
 */
export function unavailable(detail: string, reason: string | null = null): Problem {
  return new Problem("unavailable", {
    detail: `${detail} Try again.`,
    reason,
    headers: { "Retry-After": RETRY_AFTER_S },
  });
}

/**
 * Returns the problem `stored_by_earlier_build`, which tells the operator to deploy under another name.
 * @param what words for what a build before 1.0.0 has stored, e.g. `this task`.
 */
export function storedByEarlierBuild(what: string): Problem {
  return new Problem("stored_by_earlier_build", {
    detail: `A build before 1.0.0 has stored ${what}, and no release reads it. Deploy the relay under a fresh name.`,
    reason: STORED_BY_EARLIER_BUILD,
    headers: { "Retry-After": RETRY_AFTER_DEPLOYMENT_S },
  });
}

/**
 * Returns the problem `unavailable` for a result of a Durable Object that this release does not know, because the
 * object runs another release.
 */
export function unknownAnswer(_answer: never): Problem {
  return unavailable(UNREACHABLE, "earlier_release");
}

import { errorText, log } from "../../log.ts";
import { platformFailureOf } from "./object-failure.ts";
import { Problem } from "./problem.ts";
import type { Route } from "./route.ts";

const RETRY_AFTER_S = "2";

/** Error that a Durable Object threw and that is no known failure of the platform: most likely a bug. */
class UnknownObjectError extends Error {
  override readonly name = "UnknownObjectError";
}

/**
 * Calls a Durable Object.
 * @throws Problem `unavailable` when the platform fails, or when Worker and object are of different
 * releases.
 */
export async function callObject<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    const failure = platformFailureOf(error);
    if (failure === null) throw new UnknownObjectError(errorText(error));
    const isLater = failure === "later_release";
    const detail = isLater ? "A later release has stored this task." : UNREACHABLE;
    throw unavailable(detail, failure);
  }
}

const UNREACHABLE = "The relay could not reach its own storage.";

/** Builds the problem `unavailable`. @param reason of the failure for the log, e.g. `free_plan_quota`. */
export function unavailable(detail: string, reason: string | null = null): Problem {
  return new Problem("unavailable", {
    detail: `${detail} Try again.`,
    reason,
    headers: { "Retry-After": RETRY_AFTER_S },
  });
}

/**
 * Builds the problem `unavailable` for an answer of a Durable Object whose form only another release knows.
 */
export function unknownAnswer(_answer: never): Problem {
  return unavailable(UNREACHABLE, "earlier_release");
}

/**
 * Makes a route answer unknown errors of a Durable Object with `unavailable`, too: upstreams repeat a
 * request after 503, and some do not after 500.
 */
export function repeatable(route: Route): Route {
  const handle: Route["handle"] = async (call) => {
    try {
      return await route.handle(call);
    } catch (error) {
      if (!(error instanceof UnknownObjectError)) throw error;
      log({ event: "request.failed", error: errorText(error) }, "error");
      throw unavailable(UNREACHABLE, "unknown");
    }
  };
  return { ...route, handle };
}

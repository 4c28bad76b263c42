import { errorText, log } from "../../log.ts";
import { Problem } from "./problem.ts";

/**
 * Returns an error as the problem with which the API answers. An error that is no problem is a bug of the
 * relay: it is logged, and the answer is `internal_error` without its text.
 */
export function problemFrom(error: unknown): Problem {
  if (error instanceof Problem) return error;
  log({ event: "request.failed", error: errorText(error) }, "error");
  return new Problem("internal_error", {
    detail: "The request failed. The log of the relay has the error.",
  });
}

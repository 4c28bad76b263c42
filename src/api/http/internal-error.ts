import { errorFields, log } from "../../lib/log.ts";
import { Problem } from "./problem.ts";

/**
 * Converts any error to the problem with which the API answers. An error that is not a `Problem` is a bug of the relay:
 * it is logged with its stack, and becomes the problem `internal_error`, which does not contain the error's text.
 */
export function problemFrom(error: unknown): Problem {
  if (error instanceof Problem) return error;
  log({ event: "request.failed", ...errorFields(error) }, "error");
  return new Problem("internal_error", {
    detail: "The request failed. The log of the relay has the error.",
  });
}

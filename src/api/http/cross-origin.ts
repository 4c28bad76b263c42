import { problemFrom } from "./internal-error.ts";
import { Problem } from "./problem.ts";

/**
 * Header that lets pages of all sites read a response. Only routes that ignore cookies send it, so that a page learns
 * nothing that its author could not request without a browser.
 */
export const FOR_ANY_ORIGIN = { "Access-Control-Allow-Origin": "*" } as const;

/**
 * Answers a CORS preflight request for a path that pages of all sites may call.
 * @param methods methods of the path.
 * @param allowedHeaders headers that the requests of such pages may have, separated by commas.
 */
export function preflight(methods: readonly string[], allowedHeaders: string): Response {
  const headers = {
    ...FOR_ANY_ORIGIN,
    "Access-Control-Allow-Methods": methods.join(", "),
    "Access-Control-Allow-Headers": allowedHeaders,
    // The longest time for which Chromium keeps it.
    "Access-Control-Max-Age": "7200",
  };
  return new Response(null, { status: 204, headers });
}

/**
 * Waits for a response, and returns it.
 * @param headers headers that are added to the Problem when the response fails, e.g. those that let pages of other
 * sites read it.
 * @throws Problem with these headers, when the response has failed with a Problem.
 */
export async function orProblemWith<T>(
  headers: Readonly<Record<string, string>>,
  answer: Promise<T>,
): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    const { code, details } = problemFrom(error);
    throw new Problem(code, { ...details, headers: { ...details.headers, ...headers } });
  }
}

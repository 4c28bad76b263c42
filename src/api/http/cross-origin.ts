import { problemFrom } from "./internal-error.ts";
import { Problem } from "./problem.ts";

/**
 * Header that lets pages of all sites read an answer. Only routes that ignore cookies send it, so that a page gets
 * nothing that its own author could not ask for.
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
 * Waits for an answer, and returns it.
 * @throws Problem with which the answer has failed, with these headers added, e.g. those that let pages of other sites
 * read it.
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

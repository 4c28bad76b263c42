import { appendMembers } from "../../core/json.ts";
import { contentToClient } from "./client-stream.ts";
import { type ProblemCode, PROBLEMS } from "./problem-list.ts";

/**
 * A fault in a request. `path` says where it is: a JSON Pointer (RFC 6901) into the body, or `/Name` for a header or
 * query parameter of this name.
 */
export interface Issue {
  readonly path: string;
  readonly message: string;
}

export interface ProblemDetails {
  readonly detail: string;
  readonly issues?: readonly Issue[];
  /** Further members of the problem's JSON body, e.g. a balance. */
  readonly members?: Readonly<Record<string, number | string>>;
  /** JSON text of the task whose present state conflicts with the request. It becomes a part of the response. */
  readonly taskJson?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Cause of the refusal for the log, which is not part of the response. Null and absent mean that there is none. */
  readonly reason?: string | null;
}

/** Largest number of invalid fields that one response with the code `invalid_request` lists. */
const MAX_ISSUES = 20;

/** Error with which the API refuses a request; `src/app.ts` turns it into the HTTP response. */
export class Problem extends Error {
  override readonly name = "Problem";
  readonly code: ProblemCode;
  readonly details: ProblemDetails;

  constructor(code: ProblemCode, details: ProblemDetails) {
    super(details.detail);
    this.code = code;
    this.details = details;
  }
}

/**
 * Returns the problem `invalid_request`. Its member `issues` has the first 20 faults, and `more_issues` the number of
 * the others. The limit keeps the response from being much larger than the request.
 */
export function invalidRequest(issues: readonly Issue[]): Problem {
  const more = issues.length - MAX_ISSUES;
  return new Problem("invalid_request", {
    detail: "The member issues names the invalid fields.",
    issues: issues.slice(0, MAX_ISSUES),
    ...(more > 0 && { members: { more_issues: more } }),
  });
}

/**
 * Returns the problem `unknown_task`. It is the same for unknown ids, malformed ids and ids of another account's tasks,
 * so that a caller cannot learn which tasks exist.
 */
export function unknownTask(): Problem {
  return new Problem("unknown_task", { detail: "There is no task with this id." });
}

export function unknownAccount(): Problem {
  return new Problem("not_found", { detail: "There is no account with this id." });
}

/**
 * Returns the problem for a request that names an endpoint which does not exist.
 * @param path place of the name in the request, as in `Issue`.
 */
export function unknownEndpoint(path: string): Problem {
  const message = "names no endpoint of the account or, without an account, of the relay";
  return new Problem("unknown_endpoint", {
    detail: "The member issues names the field.",
    issues: [{ path, message }],
  });
}

/**
 * Returns the HTTP response with a problem (RFC 9457).
 * @param origin origin of the relay, for the link to `/docs/errors`, which explains every code.
 */
export function problemResponse(problem: Problem, origin: string): Response {
  const { headers, taskJson } = problem.details;
  const task = taskJson === undefined ? "{}" : `{"task":${taskJson}}`;
  const text = appendMembers(JSON.stringify(problemMembers(problem, origin)), task);
  return new Response(contentToClient(text), {
    status: PROBLEMS[problem.code].status,
    headers: { "Content-Type": "application/problem+json", ...headers },
  });
}

/**
 * Returns the members that the JSON of a problem has in a response. The member `task` is added elsewhere, because the
 * task is available only as JSON text (`taskJson`).
 */
export function problemMembers({ code, details }: Problem, origin: string) {
  const { status, title } = PROBLEMS[code];
  const { detail, issues, members } = details;
  const type = `${origin}/docs/errors#${code}`;
  return { type, title, status, detail, code, ...(issues && { issues }), ...members };
}

/**
 * Returns the log line of a refused request.
 * @param request members of the line that tell which request was refused.
 */
export function refusalLine(
  { code, details }: Problem,
  request: Readonly<Record<"method" | "path", string> & { via?: string; request_id?: string }>,
) {
  const { status } = PROBLEMS[code];
  const reason = details.reason == null ? {} : { reason: details.reason };
  return { event: "request.refused", ...request, status, code, ...reason } as const;
}

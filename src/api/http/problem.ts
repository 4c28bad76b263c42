import { appendMembers } from "../../core/json.ts";
import { type ProblemCode, PROBLEMS } from "./problem-list.ts";

/**
 * An invalid part of a request. `path` is a JSON Pointer (RFC 6901) into the body, or `/Name` for a header
 * or a query parameter.
 */
export interface Issue {
  readonly path: string;
  readonly message: string;
}

export interface ProblemDetails {
  readonly detail: string;
  readonly issues?: readonly Issue[];
  /** Further numeric members of the problem's JSON body, e.g. a balance. */
  readonly members?: Readonly<Record<string, number>>;
  /** JSON text of the task that the request conflicts with. */
  readonly taskJson?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Reason that only the log names; null when there is none. */
  readonly reason?: string | null;
}

/** Refusal of a request. Thrown by the API only, and turned into a response in `app.ts`. */
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

export function invalidRequest(issues: readonly Issue[]): Problem {
  return new Problem("invalid_request", {
    detail: "The member issues names every invalid field.",
    issues,
  });
}

/**
 * Builds the problem `unknown_task`, the same for unknown, malformed and foreign ids, so that it reveals
 * nothing.
 */
export function unknownTask(): Problem {
  return new Problem("unknown_task", { detail: "There is no task with this id." });
}

export function unknownAccount(): Problem {
  return new Problem("not_found", { detail: "There is no account with this id." });
}

/** Answers with a problem (RFC 9457). @param origin of the relay, where `/docs/errors` explains every code. */
export function problemResponse({ code, details }: Problem, origin: string): Response {
  const { status, title } = PROBLEMS[code];
  const { detail, issues, members: more, taskJson, headers } = details;
  const type = `${origin}/docs/errors#${code}`;
  const members = { type, title, status, detail, code, ...(issues && { issues }), ...more };
  const task = taskJson === undefined ? "{}" : `{"task":${taskJson}}`;
  return new Response(appendMembers(JSON.stringify(members), task), {
    status,
    headers: { "Content-Type": "application/problem+json", ...headers },
  });
}

/** Every way in which a request can be refused (RFC 9457); the list is closed. */
export const PROBLEMS = {
  invalid_json: { status: 400, title: "The body is not JSON" },
  invalid_request: { status: 400, title: "The request is not valid" },
  unauthenticated: { status: 401, title: "Authentication failed" },
  operator_only: { status: 403, title: "Not for account keys" },
  insufficient_credits: { status: 402, title: "Not enough credits" },
  not_found: { status: 404, title: "Not found" },
  unknown_task: { status: 404, title: "No such task" },
  method_not_allowed: { status: 405, title: "Method not allowed" },
  task_exists: { status: 409, title: "Another task has this id" },
  task_open: { status: 409, title: "The task is not finished" },
  task_settled: { status: 409, title: "The task is finished" },
  reference_reused: { status: 409, title: "The reference stands for something else" },
  conflicting_result: { status: 409, title: "Another result is on record" },
  series_running: { status: 409, title: "Attempts are still running" },
  no_callback: { status: 409, title: "The task has no callback_url" },
  payload_too_large: { status: 413, title: "The body is too large" },
  idempotency_key_reused: { status: 422, title: "Idempotency-Key was used for another body" },
  internal_error: { status: 500, title: "The relay failed" },
  index_disabled: { status: 501, title: "There is no index" },
  not_configured: { status: 503, title: "The relay is not configured" },
  unavailable: { status: 503, title: "Something the relay needs cannot be reached now" },
} as const;

export type ProblemCode = keyof typeof PROBLEMS;

/** One invalid part of a request. `path` is a JSON Pointer (RFC 6901); a header or query parameter is `/Name`. */
export interface Issue {
  readonly path: string;
  readonly message: string;
}

export interface ProblemDetails {
  readonly detail: string;
  readonly issues?: readonly Issue[];
  /** Further members of the answer. */
  readonly members?: Readonly<Record<string, number>>;
  /** JSON text of the task in the way. */
  readonly taskJson?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Thrown by the HTTP layer only, answered in one place. */
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
  return new Problem("invalid_request", { detail: "See issues for what to change.", issues });
}

/** One answer for unknown, malformed and foreign ids, so that it tells nothing. */
export function unknownTask(): Problem {
  return new Problem("unknown_task", { detail: "There is no task with this id." });
}

export function unknownAccount(): Problem {
  return new Problem("not_found", { detail: "There is no account with this id." });
}

/** @param origin of the relay, under which `type` is documented. */
export function problemResponse({ code, details }: Problem, origin: string): Response {
  const { status, title } = PROBLEMS[code];
  const { detail, issues, members: more, taskJson, headers } = details;
  const type = `${origin}/docs/errors#${code}`;
  const members = { type, title, status, detail, code, ...(issues && { issues }), ...more };
  const text = JSON.stringify(members);
  const body = taskJson === undefined ? text : `${text.slice(0, -1)},"task":${taskJson}}`;
  return new Response(body, {
    status,
    headers: {
      "Content-Type": "application/problem+json",
      "Cache-Control": "no-store",
      ...headers,
    },
  });
}

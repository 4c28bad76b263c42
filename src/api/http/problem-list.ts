interface ProblemType {
  readonly status: number;
  readonly title: string;
}

/** All problems (RFC 9457) with which the relay refuses requests, by their codes. */
export const PROBLEMS = {
  invalid_json: {
    status: 400,
    title: "The body is not JSON",
  },
  invalid_request: {
    status: 400,
    title: "The request is not valid",
  },
  prefer_required: {
    status: 400,
    title: "The call is possible only without waiting",
  },
  unknown_endpoint: {
    status: 400,
    title: "The endpoint does not exist",
  },
  unauthenticated: {
    status: 401,
    title: "Authentication failed",
  },
  insufficient_credits: {
    status: 402,
    title: "Not enough credits",
  },
  monthly_limit: {
    status: 402,
    title: "The monthly limit is reached",
  },
  forbidden: {
    status: 403,
    title: "Not allowed for this key",
  },
  not_offered: {
    status: 403,
    title: "Not offered to the account",
  },
  not_found: {
    status: 404,
    title: "Not found",
  },
  unknown_task: {
    status: 404,
    title: "The task does not exist",
  },
  method_not_allowed: {
    status: 405,
    title: "Method not allowed",
  },
  body_timeout: {
    status: 408,
    title: "The body did not arrive in time",
  },
  task_exists: {
    status: 409,
    title: "A task with this id exists already",
  },
  task_open: {
    status: 409,
    title: "The task is not finished",
  },
  task_settled: {
    status: 409,
    title: "The task is finished",
  },
  reference_reused: {
    status: 409,
    title: "The reference is already in use",
  },
  conflicting_result: {
    status: 409,
    title: "Another result is on record",
  },
  series_running: {
    status: 409,
    title: "Attempts are still running",
  },
  submission_running: {
    status: 409,
    title: "The job is being submitted",
  },
  not_cancelable: {
    status: 409,
    title: "The account cannot cancel the task",
  },
  no_callback: {
    status: 409,
    title: "The task has no callback_url",
  },
  endpoints_full: {
    status: 409,
    title: "There are as many endpoints as there may be",
  },
  host_paused: {
    status: 409,
    title: "The host is paused",
  },
  pauses_full: {
    status: 409,
    title: "Too many hosts are paused",
  },
  offers_in_configuration: {
    status: 409,
    title: "The offers are in the configuration",
  },
  offers_full: {
    status: 409,
    title: "The relay stores as many offers as it may",
  },
  offer_changed: {
    status: 412,
    title: "The offer was changed in between",
  },
  length_required: {
    status: 411,
    title: "Content-Length is required",
  },
  output_gone: {
    status: 410,
    title: "The output is gone",
  },
  payload_too_large: {
    status: 413,
    title: "The body is too large",
  },
  submit_unknown: {
    status: 424,
    title: "It is not known whether the upstream has started a job",
  },
  task_failed: {
    status: 424,
    title: "The task has failed",
  },
  output_needs_store: {
    status: 422,
    title: "The output could not be kept",
  },
  idempotency_key_reused: {
    status: 422,
    title: "Idempotency-Key was used for another request",
  },
  rate_limited: {
    status: 429,
    title: "Too many requests",
  },
  connection_busy: {
    status: 429,
    title: "No place for another job is free",
  },
  queue_full: {
    status: 429,
    title: "Too many submissions wait for a place",
  },
  internal_error: {
    status: 500,
    title: "The relay failed",
  },
  index_disabled: {
    status: 501,
    title: "There is no index",
  },
  not_configured: {
    status: 503,
    title: "The relay is not configured",
  },
  stored_by_earlier_build: {
    status: 503,
    title: "A build before 1.0.0 has stored this",
  },
  unavailable: {
    status: 503,
    title: "A part of the relay is temporarily unavailable",
  },
} as const satisfies Readonly<Record<string, ProblemType>>;

export type ProblemCode = keyof typeof PROBLEMS;

export function isProblemCode(text: string): text is ProblemCode {
  return Object.hasOwn(PROBLEMS, text);
}

/** The HTTP answer of a provider to a request about a job. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** Parsed JSON body; undefined when the body is not JSON. */
  readonly body: unknown;
}

/** Tells whether the HTTP status of an answer is one from 200 to 299. */
export function isSuccess({ status }: Pick<Answer, "status">): boolean {
  return status >= 200 && status < 300;
}

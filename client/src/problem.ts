import type { components } from "./schema.d.ts";

type ProblemBody = components["schemas"]["Problem"];

/** Code of the kind of a problem; `/docs/errors` of the relay explains each. */
export type ProblemCode = ProblemBody["code"];
export type Issue = NonNullable<ProblemBody["issues"]>[number];

/** Error for a request that the relay, or something in front of it, has refused. */
export class RelayProblem extends Error {
  override readonly name = "RelayProblem";
  readonly status: number;
  /** Code of the problem; null when the answer is not the relay's own, e.g. that of a proxy. */
  readonly code: ProblemCode | null;
  /** Sentence that says what is wrong with this request; empty when the answer is not the relay's own. */
  readonly detail: string;
  /** The invalid fields, parameters and headers. */
  readonly issues: readonly Issue[];
  /** Id of the request, which the relay's log names too; null when the answer has none. */
  readonly requestId: string | null;
  /** Seconds after which to try again; null when the answer does not say. */
  readonly retryAfterS: number | null;
  /** The whole answer, e.g. with the `task` of a conflict; null when it is not the relay's own. */
  readonly body: ProblemBody | null;

  constructor(response: Response, answer: unknown) {
    const body = isProblem(answer) ? answer : null;
    const issues = body?.issues ?? [];
    super(messageOf(response, body));
    this.status = response.status;
    this.code = body?.code ?? null;
    this.detail = body?.detail ?? "";
    this.issues = issues;
    this.requestId = response.headers.get("X-Request-Id");
    this.retryAfterS = retryAfterS(response);
    this.body = body;
  }
}

/** Reads the header `Retry-After` in seconds; null when there is none, or a date. */
export function retryAfterS(response: Response): number | null {
  const text = response.headers.get("Retry-After");
  return text !== null && /^\d{1,9}$/.test(text) ? Number(text) : null;
}

function messageOf({ status }: Response, body: ProblemBody | null): string {
  if (body === null) return `${status}, which is not an answer of the relay itself`;
  const issues = (body.issues ?? []).map(({ path, message }) => ` ${path} ${message}.`);
  return `${status} ${body.code}: ${body.detail}${issues.join("")}`;
}

function isProblem(answer: unknown): answer is ProblemBody {
  return typeof answer === "object" && answer !== null && "code" in answer && "detail" in answer;
}

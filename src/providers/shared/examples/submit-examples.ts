import type { JsonObject } from "../../../core/json.ts";
import type { RefusalClass } from "../../../core/record/refusal.ts";
import type { Job, UpstreamNews } from "../../../core/record/upstream.ts";
import type { Answer } from "../../provider-answer.ts";
import type { SubmitTarget } from "../../submit.ts";
import type { Exempt } from "./exempt.ts";

/** An example of a documented call that starts a job, and what the relay reads from it. */
export interface SubmitCall {
  readonly path: string;
  readonly body: JsonObject;
  /** True when the request is a list with this body as its only element. Absent when the request is the body itself. */
  readonly isListOfOne?: true;
  readonly model: string;
  readonly endpoint: string | null;
  /** Output metadata that the parameters in the call state. */
  readonly metadata: JsonObject;
  readonly answer: SubmitTarget["answer"];
  readonly takesMultipart: boolean;
}

/** An example of an answer to a submission, and its expected meaning. */
export interface SubmitExample {
  readonly name: string;
  readonly path: string;
  readonly answer: Pick<Answer, "status" | "body">;
  readonly means: SubmitMeaning;
}

/**
 * Expected meaning of an answer to a submission: a job, a result, a refusal of this class, or an answer that leaves
 * open whether a job was started.
 */
export type SubmitMeaning =
  | { readonly job: Job }
  /** Expected meaning of an answer that accepts the job whose id the call itself has chosen. */
  | { readonly namedJob: string }
  | { readonly result: UpstreamNews; readonly job: Job | null }
  | { readonly refused: RefusalClass }
  | "unclear";

/** For each kind of answer to a submission, an example, or the reason why the provider gives no such answer. */
export interface SubmitExamples {
  /** All calls that start a job, one for each form of the path. */
  readonly calls: readonly SubmitCall[];
  /** Paths of the provider at which a `POST` starts no job, or at which there is nothing. */
  readonly otherPaths: readonly string[];
  readonly accepted: SubmitExample;
  /** An answer that is itself the result of the job. */
  readonly result: SubmitExample | Exempt;
  readonly refused: SubmitExample;
  readonly limited: SubmitExample;
  readonly outage: SubmitExample;
  /** An answer whose HTTP status is from 200 to 299 and which contains neither the id of a job nor a result. */
  readonly withoutId: SubmitExample;
  readonly others: readonly SubmitExample[];
}

/** Returns a function that makes examples of answers to calls of one path. */
export function answersAt(path: string) {
  return (name: string, body: unknown, means: SubmitMeaning, status = 200): SubmitExample => ({
    name,
    path,
    answer: { status, body },
    means,
  });
}

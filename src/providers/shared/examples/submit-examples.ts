import type { JsonObject } from "../../../core/json.ts";
import type { RefusalClass } from "../../../core/record/refusal.ts";
import type { Job, UpstreamNews } from "../../../core/record/upstream.ts";
import type { Answer } from "../../provider-answer.ts";
import type { SubmitTarget } from "../../submit.ts";
import type { Exempt } from "./exempt.ts";

/** A documented call that starts a job, and what the relay reads from it. */
export interface SubmitCall {
  readonly path: string;
  readonly body: JsonObject;
  /** True when the call is a list with this body. Absent when it is the body itself. */
  readonly isListOfOne?: true;
  readonly model: string;
  readonly endpoint: string | null;
  /** Output metadata that the parameters in the call state. */
  readonly metadata: JsonObject;
  readonly answer: SubmitTarget["answer"];
  readonly takesMultipart: boolean;
}

/** An answer to a submission, and its meaning. */
export interface SubmitExample {
  readonly name: string;
  readonly path: string;
  readonly answer: Pick<Answer, "status" | "body">;
  readonly means: SubmitMeaning;
}

/** Meaning of an answer: a job, a result, a refusal of this class, or an answer that leaves open whether a job was started. */
export type SubmitMeaning =
  | { readonly job: Job }
  /** Meaning of an answer that accepts the job which the call itself has named by this id. */
  | { readonly namedJob: string }
  | { readonly result: UpstreamNews; readonly job: Job | null }
  | { readonly refused: RefusalClass }
  | "unclear";

/** An example of each answer to a submission, or the reason why the provider does not give it. */
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
  /** An answer with an HTTP status from 200 to 299, and with neither the id of a job nor a result. */
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

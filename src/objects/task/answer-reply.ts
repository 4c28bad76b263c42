import { errorCodeOf, errorOf, urlsOf } from "../../core/record/callback-body.ts";
import { hasCustomerKey } from "../../core/record/customer-key.ts";
import type { Outputs } from "../../core/record/outputs.ts";
import { isAboutAccount } from "../../core/record/refusal.ts";
import { refusalOf, type Submission, type SubmissionAnswer } from "../../core/record/submission.ts";
import { addressedName, type TerminalTask } from "../../core/record/task.ts";
import type { StoredAnswer } from "../../core/record/upstream.ts";
import { accountOf, type Caller } from "./caller.ts";

/** Reply of a task's object to a reader who asks for the upstream's answer to the call that has started the job. */
export type AnswerReply =
  | { readonly kind: "none"; readonly reason: NoAnswerReason }
  /**
   * Reply when the task has failed for another reason than an answer of the upstream, or because of one that the reader
   * must not see. `message` is the task's error message.
   */
  | { readonly kind: "failed"; readonly message: string }
  | { readonly kind: "kept"; readonly answer: SubmissionAnswer; readonly connection: string | null }
  | AnswerInBucket;

/**
 * Reasons why a reader gets no answer of the upstream: the relay did not make the call, the reader is an account that
 * has not made it, or the answer is not kept.
 */
export type NoAnswerReason = "not_submitted" | "not_submitter" | "not_kept";

/** Answer of the upstream that lies in the bucket for outputs. */
export interface AnswerInBucket extends Pick<StoredAnswer, "number" | "contentType"> {
  readonly kind: "stored";
  readonly status: number;
  readonly recordedAt: number;
  /** Text in the placeholders that stand in the answer for files (objects/call/placeholder.ts). */
  readonly token: string;
  /** Links in the callback body, which replace the placeholders. */
  readonly urls: readonly string[];
  /** Time from which neither the answer nor its files can be read, in Unix milliseconds. */
  readonly expiresAt: number;
  /** True when the output that the answer is was deleted. */
  readonly isDeleted: boolean;
}

/** Returns the reply to a caller who may read the task and asks for the upstream's answer. */
export function answerReplyOf(record: TerminalTask, caller: Caller): AnswerReply {
  const { submission, outputs } = record;
  if (submission === null) return { kind: "none", reason: "not_submitted" };
  if (!isSubmitter(caller, record)) return { kind: "none", reason: "not_submitter" };
  const { answer } = submission;
  if (record.status === "failed" && (answer === null || !isShownFailure(record, caller))) {
    return { kind: "failed", message: errorOf(record.body).message };
  }
  if (outputs?.answer !== undefined) return inBucket(record, submission, outputs, outputs.answer);
  if (answer === null) return { kind: "none", reason: "not_kept" };
  const connection = record.upstream && addressedName(record, record.upstream);
  return { kind: "kept", answer, connection };
}

function inBucket(
  { recordedAt, body }: TerminalTask,
  { id: token, state }: Submission,
  { expiresAt, list }: Outputs,
  { number, contentType }: StoredAnswer,
): AnswerInBucket {
  const status = state.kind === "accepted" ? (state.statusCode ?? 200) : 200;
  const isDeleted = list.some((one) => one.number === number && one.state.kind === "deleted");
  const place = { number, contentType, status, recordedAt };
  return { kind: "stored", ...place, token, urls: urlsOf(body), expiresAt, isDeleted };
}

/**
 * Tells whether the caller may read what the upstream says about the task's job, as the operator or as the account that
 * has submitted the job.
 */
export function isSubmitter(
  caller: Caller,
  { submission }: Pick<TerminalTask, "submission">,
): boolean {
  return accountOf(caller) === null || submission?.isByOwner === true;
}

/**
 * Tells whether a task has failed because of what its upstream says, and the caller may see this. An account does not
 * see that the upstream has refused the operator's balance or key.
 */
function isShownFailure(record: TerminalTask, caller: Caller): boolean {
  const refusal = refusalOf(record.submission);
  if (refusal !== null) {
    return !isAboutAccount(refusal) || hasCustomerKey(record) || accountOf(caller) === null;
  }
  return record.found !== null && errorCodeOf(record.body) === "upstream_error";
}

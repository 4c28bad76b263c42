import type { SubmitOutcome } from "../../core/events/event.ts";
import { isAboutAccount, NOT_SERVED } from "../../core/record/refusal.ts";
import { accountOf, type Caller } from "../../objects/task/caller.ts";
import type { SubmitAnswer } from "../../outbound/http.ts";
import { usualErrorBody } from "../../providers/job-calls.ts";
import { bytesOf } from "../../security/encoding.ts";
import type { SubmitPlace } from "./prepared-call.ts";
import { passedHeaders } from "./sent-headers.ts";
import { NOT_AGAIN } from "./submitted.ts";

/** Value in seconds of the header `Retry-After` for an account when the upstream's refusal has no such header. */
const RETRY_AFTER_S = "60";
/**
 * HTTP status that an account gets in place of an upstream's refusal that concerns the operator's account at the
 * upstream.
 */
const UNAVAILABLE = 503;

/** The upstream's response to a submission in the form in which the caller gets it. */
interface ShownAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/**
 * Returns the upstream's response as the caller may see it. An account is told neither that the operator owes the
 * upstream money nor that the upstream refuses the operator's key, because HTTP 401 or 402 would look like a fault of
 * the account's own key or balance. It gets an error in the upstream's form that mentions neither. With a customer's
 * own key the response is passed on, because key and balance are the customer's.
 */
export function shownAnswer(
  { status, headers, bytes }: Pick<SubmitAnswer, "status" | "headers" | "bytes">,
  outcome: SubmitOutcome,
  { connection, credential }: SubmitPlace,
  caller: Caller,
): ShownAnswer {
  const isHidden =
    outcome.kind === "refused" &&
    isAboutAccount(outcome.refusal) &&
    credential === null &&
    accountOf(caller) !== null;
  if (!isHidden) return { status, headers: passedHeaders(headers), bytes };
  const shown = new Headers({
    "Content-Type": "application/json",
    "Retry-After": headers.get("Retry-After") ?? RETRY_AFTER_S,
    ...NOT_AGAIN,
  });
  const { provider } = connection;
  const { errorBody = usualErrorBody } = (provider.polls === null ? null : provider.jobCalls) ?? {};
  const body = JSON.stringify(errorBody(UNAVAILABLE, NOT_SERVED));
  return { status: UNAVAILABLE, headers: shown, bytes: bytesOf(body) };
}

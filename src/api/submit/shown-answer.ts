import type { SubmitOutcome } from "../../core/events/event.ts";
import { isAboutAccount, NOT_SERVED } from "../../core/record/refusal.ts";
import { accountOf, type Caller } from "../../objects/task/caller.ts";
import type { SubmitAnswer } from "../../outbound/http.ts";
import { usualErrorBody } from "../../providers/job-calls.ts";
import { bytesOf } from "../../security/encoding.ts";
import type { SubmitPlace } from "./prepared-call.ts";
import { passedHeaders } from "./sent-headers.ts";
import { NOT_AGAIN } from "./submitted.ts";

/** Wait that the header `Retry-After` names where the upstream names none, in seconds. */
const RETRY_AFTER_S = "60";
/** HTTP status of the answer in place of a refusal that is about the operator's account at the upstream. */
const UNAVAILABLE = 503;

/** The upstream's answer to a submission, as its caller gets it. */
interface ShownAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/**
 * Returns the upstream's answer as its caller may see it. An account is not told what the operator owes the upstream, nor
 * that the operator's key is refused, which with HTTP 401 or 402 would look like the account's own key or balance: it gets an
 * error in the upstream's form that says neither. With a customer's own key the balance is the customer's.
 */
export function shownAnswer(
  { status, headers, bytes }: SubmitAnswer,
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

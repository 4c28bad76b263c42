import type { RefusalClass } from "../../core/record/refusal.ts";
import { textAt } from "../json-fields.ts";
import type { Observation } from "../observation.ts";
import { hasPromptParameters } from "./prompt-parameters.ts";
import { type HiddenParameters, type SubmitReading, submitReadingOf } from "../submit.ts";
import { refusalOfStatus } from "../submit-refusal.ts";

/**
 * Parts of a request, besides the members named after the parameters, from which gateways take parameters of a video.
 * new-api lets the members of `metadata` replace the parameters for its own upstream, and for Ark a gateway passes on
 * the prompt, which may contain parameters.
 */
export const HIDDEN_IN_VIDEOS: HiddenParameters = {
  isHiddenIn: hasPromptParameters,
  pointers: ["/metadata"],
};

/**
 * Returns the meaning of a gateway's answer to a call that generates a video. An answer with an error but without the
 * state of a job is about the request, and an id in it is not that of a job.
 */
export function readVideo(observation: Observation | null): SubmitReading {
  const isError = observation !== null && observation.state === null && observation.error !== null;
  return submitReadingOf(isError ? null : observation);
}

/**
 * Error codes which say that no credits are left or a spending limit is reached: OpenAI's for an account, with HTTP 429
 * (https://developers.openai.com/api/docs/guides/error-codes), and new-api's for a user or a token
 * (https://github.com/QuantumNous/new-api/blob/main/types/error.go).
 */
const FUNDS_CODES: readonly (string | null)[] = [
  "billing_hard_limit_reached",
  "credit_balance_exhausted",
  "insufficient_quota",
  "organization_spend_limit_exceeded",
  "organization_usage_limit_exceeded",
  "project_spend_limit_exceeded",
  "insufficient_user_quota",
  "pre_consume_token_quota_failed",
  "entitlement_daily_limit_exceeded",
  "entitlement_inactive",
  "entitlement_required",
  "entitlement_total_limit_exceeded",
];
/**
 * Error codes with which OpenAI says, with HTTP 503, that its servers are overloaded
 * (https://developers.openai.com/api/docs/guides/error-codes).
 */
const OVERLOAD_CODES: readonly (string | null)[] = ["server_is_overloaded", "slow_down"];

/**
 * Returns the class of the answer with which OpenAI, or a gateway that answers in the same form, refuses a submission.
 * A gateway that has no upstream for the model answers 503 before it calls any
 * (https://github.com/QuantumNous/new-api/blob/main/middleware/distributor.go). When its upstream answers 429, new-api
 * replaces the text by one that says that the upstreams are saturated (controller/relay.go). A gateway's refusal does
 * not show what the upstreams have done that it had asked before.
 */
export function gatewayRefusal(status: number, body: unknown): RefusalClass | null {
  const code = textAt(body, "error", "code") ?? textAt(body, "code");
  if (status === 503) return refusalOfOutage(code);
  const refusal = refusalOfStatus(status);
  if (refusal === null) return null;
  const type = textAt(body, "error", "type");
  if (FUNDS_CODES.includes(code) || FUNDS_CODES.includes(type)) return "funds";
  if (code === "access_denied") return "key";
  const text = textAt(body, "error", "message") ?? textAt(body, "message") ?? "";
  const isBusy = code === "token_concurrency_limit_reached" || text.includes("负载已饱和");
  return isBusy && refusal === "rate" ? "busy" : refusal;
}

function refusalOfOutage(code: string | null): RefusalClass | null {
  if (code === "model_not_found") return "final";
  return OVERLOAD_CODES.includes(code) ? "rate" : null;
}

/** Returns the body of an error in the form of OpenAI. */
export function openAiError(status: number, message: string) {
  const type = status < 500 ? "invalid_request_error" : "server_error";
  return { error: { message, type, param: null, code: null } };
}

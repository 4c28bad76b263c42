import type { RefusalClass } from "../../core/record/refusal.ts";
import { SECOND_MS } from "../../core/time.ts";
import { openLinks } from "./gateway-links.ts";
import { at, listAt, numberAt, textAt } from "../json-fields.ts";
import type { Observation } from "../observation.ts";
import { hasPromptParameters } from "./prompt-parameters.ts";
import {
  type HiddenParameters,
  membersAt,
  type SubmitReading,
  submitReadingOf,
  type SubmitTarget,
} from "../submit.ts";
import { refusalOfStatus } from "../submit-refusal.ts";
import { amountsAt } from "../usage.ts";

/** Path at which gateways generate images, as OpenAI does. The answer contains the images or their links. */
export const IMAGES_PATH = "/v1/images/generations";

/**
 * Places, in addition to the parameters' own members, from which gateways read parameters of a video: new-api
 * overwrites parameters for its upstream with the members of `metadata`, and channels of Ark pass on the prompt, which
 * may contain parameters.
 */
export const HIDDEN_IN_VIDEOS: HiddenParameters = {
  isHiddenIn: hasPromptParameters,
  pointers: ["/metadata"],
};

/**
 * Target of the call that generates images. An answer in base64 or as a stream has no links, which are all that the
 * relay can keep of a result, so a request that asks for it is not sent.
 */
export const IMAGES_TARGET: SubmitTarget = {
  model: { pointer: "/model" },
  endpoint: null,
  parameters: membersAt("", ["size"]),
  answer: "result",
  unreadable: { "/response_format": ["b64_json"], "/stream": [true] },
};

/**
 * Returns the meaning of the answer to a call that generates images. Some models answer in base64 without being asked
 * to. Such an answer is a result without output for the task; the caller gets the images in the answer. It does not
 * count as `unclear`, because the caller would then not get the answer to a call that has cost money.
 */
export function readImages(body: unknown, baseUrl: string): SubmitReading {
  const images = listAt(body, "data");
  const isResult = images.some(
    (image) => textAt(image, "url") !== null || textAt(image, "b64_json") !== null,
  );
  if (!isResult) return { kind: "unclear" };
  const createdAt = numberAt(body, "created") ?? 0;
  const links = images.map((image) => at(image, "url"));
  const observation: Observation = {
    jobId: null,
    state: "completed",
    urls: openLinks(links, baseUrl),
    metadata: { ratio: textAt(body, "size") },
    completedAt: createdAt > 0 ? createdAt * SECOND_MS : null,
    error: null,
    usage: amountsAt(body, "usage"),
  };
  return { kind: "result", job: null, observation };
}

/**
 * Returns the meaning of a gateway's answer to a call that generates a video. An error without the state of a job is
 * about the request, and an id beside it is not that of a job.
 */
export function readVideo(observation: Observation | null): SubmitReading {
  const isError = observation !== null && observation.state === null && observation.error !== null;
  return submitReadingOf(isError ? null : observation);
}

/**
 * Codes with which OpenAI says that the account has no credits left or has reached a spending limit, always with HTTP 429
 * (https://developers.openai.com/api/docs/guides/error-codes), and with which new-api says the same of the user or the token
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
/** Codes with which OpenAI says, with HTTP 503, that its servers are overloaded; see the list of its error codes above. */
const OVERLOAD_CODES: readonly (string | null)[] = ["server_is_overloaded", "slow_down"];

/**
 * Returns the class of an answer with which OpenAI, or a gateway in its form, refuses a call. A gateway finds out before it
 * calls an upstream that none of its channels serves the model (HTTP 503,
 * https://github.com/QuantumNous/new-api/blob/main/middleware/distributor.go). In place of the text of an upstream that
 * answers 429 new-api writes that the upstreams are saturated (controller/relay.go). The refusal of a gateway says nothing
 * about upstreams that the gateway has asked before.
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

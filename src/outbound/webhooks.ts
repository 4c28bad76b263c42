import { urlPolicyOf } from "../config/config.ts";
import { isWanted } from "../config/operator-events.ts";
import type { Runtime } from "../config/runtime.ts";
import { type AttemptResult, unansweredAttempt } from "../core/record/callback.ts";
import type { Delivery } from "../core/duties/deliver.ts";
import type { Refund } from "../core/duties/refund.ts";
import { toSeconds } from "../core/time.ts";
import { log } from "../log.ts";
import { accountSecrets, type Keyring } from "../security/keyring.ts";
import { sign, signedHeaders } from "../security/signature.ts";
import { checkCallbackUrl } from "../security/url-policy.ts";
import { post } from "./http.ts";
import { operatorBody, type OperatorEvent } from "./operator-body.ts";

type SigningKeys = Pick<Keyring, "callbackSecrets" | "signingKeys">;

const OPERATOR_TIMEOUT_MS = 5_000;

/**
 * Sends one attempt of a callback, which core/record/attempt-plan.ts has planned. The URL is checked again, because the policy or the relay's own address
 * may have changed since the registration. The body (core/record/callback-body.ts) and `webhook-id`
 * are the same on every attempt; timestamp and signature are new.
 */
export async function deliver(delivery: Delivery, runtime: Runtime): Promise<AttemptResult> {
  const { config, keyring } = runtime;
  const { account, origin, taskId, status, number, startedAt, url, body } = delivery;
  if (!checkCallbackUrl(url, urlPolicyOf(config, origin)).ok) return unansweredAttempt("blocked");
  const callbackSecrets =
    account === null ? keyring.callbackSecrets : await accountSecrets(config, account);
  return signedPost({
    url,
    body,
    id: `msg_${taskId}`,
    signedAt: startedAt,
    headers: {
      "User-Agent": `TaskRelay/1 (+${config.publicUrl ?? origin})`,
      "X-Event": `task.${status}`,
      "X-Task-Id": taskId,
      "X-Timestamp": String(toSeconds(startedAt)),
      "X-Attempt": String(number),
    },
    keys: { callbackSecrets, signingKeys: keyring.signingKeys },
    timeoutMs: config.callbackTimeoutMs,
  });
}

/**
 * Asks the operator's own billing at `SETTLEMENT_URL` to refund a task.
 * @returns true when the billing answered with 2xx, which confirms the refund.
 */
export async function settle(
  { taskId, accountId: account, amount: credits, reason }: Refund,
  url: string,
  { config, keyring }: Runtime,
): Promise<boolean> {
  const { outcome } = await signedPost({
    url,
    body: JSON.stringify({ task_id: taskId, account, credits, reason }),
    id: `refund_${taskId}`,
    signedAt: Date.now(),
    headers: {},
    keys: { callbackSecrets: keyring.settlementSecrets, signingKeys: [] },
    timeoutMs: config.callbackTimeoutMs,
  });
  return outcome === "delivered";
}

/**
 * Sends an event to `OPERATOR_CALLBACK_URL`, signed with the operator secrets.
 * @param id `webhook-id`, the same on every try.
 * @param happenedAt time of the event, in Unix milliseconds.
 * @returns true when the event was delivered; false also when no URL is configured, or the type is not chosen.
 */
export async function notifyOperator(
  event: OperatorEvent,
  id: string,
  happenedAt: number,
  { config, keyring }: Runtime,
  aborted: AbortSignal | null = null,
): Promise<boolean> {
  const url = config.operatorCallbackUrl;
  if (url === null || !isWanted(config, event.type)) return false;
  const { outcome } = await signedPost({
    url,
    body: operatorBody(event, happenedAt, config),
    id,
    signedAt: Date.now(),
    headers: { "User-Agent": "TaskRelay/1" },
    keys: { callbackSecrets: keyring.operatorSecrets, signingKeys: [] },
    timeoutMs: Math.min(OPERATOR_TIMEOUT_MS, config.callbackTimeoutMs),
    aborted,
  });
  if (outcome === "delivered") return true;
  log({ event: "operator.unreachable", type: event.type, outcome }, "warn");
  return false;
}

interface SignedPost {
  readonly url: string;
  readonly body: string;
  /** Value of `webhook-id`, by which a receiver recognises a repeated request. */
  readonly id: string;
  /** Time of the signature, in Unix milliseconds. */
  readonly signedAt: number;
  /** Headers of the request besides the content type and the signature. */
  readonly headers: Readonly<Record<string, string>>;
  readonly keys: SigningKeys;
  readonly timeoutMs: number;
  readonly aborted?: AbortSignal | null;
}

/** Sends a JSON body with the headers of Standard Webhooks. */
async function signedPost(request: SignedPost): Promise<AttemptResult> {
  const { url, body, id, signedAt, keys, timeoutMs, aborted = null } = request;
  const message = { id, timestamp: String(toSeconds(signedAt)), body };
  const headers = {
    "Content-Type": "application/json",
    ...request.headers,
    ...signedHeaders(message, await sign(message, keys)),
  };
  return post({ url, headers, body }, timeoutMs, aborted);
}

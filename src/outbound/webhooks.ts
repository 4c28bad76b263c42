import type { AttemptResult } from "../core/events/event.ts";
import { toSeconds } from "../core/time.ts";
import type { Delivery, Refund } from "../core/step.ts";
import { accountSecrets } from "../security/keyring.ts";
import { sign, signedHeaders } from "../security/signature.ts";
import { callbackRequest } from "./callback-request.ts";
import { checkCallbackUrl } from "../security/url-policy.ts";
import { urlPolicyOf } from "../config/config.ts";
import type { Runtime } from "../config/runtime.ts";
import { post } from "./http.ts";

/**
 * Sends one attempt. The URL is judged again, because the policy or the relay's own address may have
 * changed since it was accepted.
 */
export async function deliver(delivery: Delivery, runtime: Runtime): Promise<AttemptResult> {
  const { config, keyring } = runtime;
  if (!checkCallbackUrl(delivery.url, urlPolicyOf(config, delivery.origin)).ok) {
    return { outcome: "blocked", statusCode: null, responseExcerpt: null };
  }
  const { account, origin } = delivery;
  const { signingKeys } = keyring;
  const callbackSecrets =
    account === null ? keyring.callbackSecrets : await accountSecrets(config, account);
  const keys = { callbackSecrets, signingKeys };
  const request = await callbackRequest(delivery, config.publicUrl ?? origin, keys);
  return post(request, config.callbackTimeoutMs);
}

/** Tells the operator's own billing to refund. Only a 2xx means that the credits are back. */
export async function settle(refund: Refund, url: string, runtime: Runtime): Promise<boolean> {
  const { taskId, accountId: account, amount: credits, reason } = refund;
  const body = JSON.stringify({ task_id: taskId, account, credits, reason });
  const message = { id: `refund_${taskId}`, timestamp: String(toSeconds(Date.now())), body };
  const keys = { callbackSecrets: runtime.keyring.settlementSecrets, signingKeys: [] };
  const headers = {
    "Content-Type": "application/json",
    ...signedHeaders(message, await sign(message, keys)),
  };
  const { outcome } = await post({ url, headers, body }, runtime.config.callbackTimeoutMs);
  return outcome === "delivered";
}

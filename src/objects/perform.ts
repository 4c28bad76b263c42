import type { AttemptResult } from "../core/event.ts";
import { toSeconds } from "../core/result.ts";
import type { Delivery, Refund } from "../core/step.ts";
import { accountSecrets } from "../callback/keyring.ts";
import { sign, signedHeaders } from "../callback/signature.ts";
import { callbackRequest } from "../callback/request.ts";
import { checkCallbackUrl } from "../callback/url-policy.ts";
import { urlPolicyOf } from "../config.ts";
import type { Relay } from "../relay.ts";
import { post } from "./http.ts";

/**
 * Sends one attempt. The URL is judged again, because the policy or the relay's own address may have
 * changed since it was accepted.
 */
export async function deliver(delivery: Delivery, relay: Relay): Promise<AttemptResult> {
  const { config, keyring } = relay;
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
export async function settle(refund: Refund, url: string, relay: Relay): Promise<boolean> {
  const { taskId, accountId: account, amount: credits, reason } = refund;
  const body = JSON.stringify({ task_id: taskId, account, credits, reason });
  const message = { id: `refund_${taskId}`, timestamp: String(toSeconds(Date.now())), body };
  const keys = { callbackSecrets: relay.keyring.settlementSecrets, signingKeys: [] };
  const headers = {
    "Content-Type": "application/json",
    ...signedHeaders(message, await sign(message, keys)),
  };
  const { outcome } = await post({ url, headers, body }, relay.config.callbackTimeoutMs);
  return outcome === "delivered";
}

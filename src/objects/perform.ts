import type { AttemptResult } from "../core/event.ts";
import type { Delivery } from "../core/step.ts";
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
  const request = await callbackRequest(delivery, config.publicUrl ?? delivery.origin, keyring);
  return post(request, config.callbackTimeoutMs);
}

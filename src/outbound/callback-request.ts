import type { Delivery } from "../core/step.ts";
import { toSeconds } from "../core/time.ts";
import type { Keyring } from "../security/keyring.ts";
import { sign, signedHeaders } from "../security/signature.ts";

export interface CallbackRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * One attempt as it goes over the wire (DESIGN "Callback request"): the body and `webhook-id` are the
 * same on every attempt, the timestamp and signature are of this one.
 * @param origin where the relay can be found, for the receiver's log.
 */
export async function callbackRequest(
  delivery: Delivery,
  origin: string,
  keyring: Pick<Keyring, "callbackSecrets" | "signingKeys">,
): Promise<CallbackRequest> {
  const { taskId, status, body, url, number, startedAt } = delivery;
  const id = `msg_${taskId}`;
  const timestamp = String(toSeconds(startedAt));
  const message = { id, timestamp, body };
  const headers = {
    "Content-Type": "application/json",
    "User-Agent": `TaskRelay/1 (+${origin})`,
    "X-Event": `task.${status}`,
    "X-Task-Id": taskId,
    "X-Timestamp": timestamp,
    "X-Attempt": String(number),
    ...signedHeaders(message, await sign(message, keyring)),
  };
  return { url, headers, body };
}

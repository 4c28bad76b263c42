import { type AttemptResult, unansweredAttempt } from "../core/record/callback.ts";
import { errorText, log } from "../log.ts";
import type { PostRequest } from "../outbound/http.ts";
import type { SendToListeners } from "../outbound/webhooks.ts";
import { withinTime } from "../timeout.ts";
import { type AccountBindings, listenerObject } from "./object-names.ts";

/** Returns the function that sends callbacks to the listeners of accounts. */
export function toListeners(env: AccountBindings): SendToListeners {
  return async (...callback) => sendToListeners(env, ...callback);
}

/**
 * Sends a callback to the listeners of an account, and returns what the first of them answers.
 * @returns `unreachable` with the cause `no_listener` when none is connected; `interrupted` when their object
 * fails, e.g. because a deployment has replaced it, so that the next attempt follows soon.
 */
async function sendToListeners(
  env: AccountBindings,
  accountId: string,
  { headers, body }: PostRequest,
  timeoutMs: number,
): Promise<AttemptResult> {
  const call = async (): Promise<AttemptResult> =>
    listenerObject(env, accountId).sendToListeners({ headers, body }, timeoutMs);
  try {
    return await withinTime(call, unansweredAttempt("timeout"), timeoutMs);
  } catch (error) {
    log({ event: "call.unanswered", what: "listeners", error: errorText(error) }, "warn");
    return unansweredAttempt("interrupted");
  }
}

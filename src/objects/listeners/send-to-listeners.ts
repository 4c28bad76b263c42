import { type AttemptResult, unansweredAttempt } from "../../core/record/callback.ts";
import { errorText, log } from "../../lib/log.ts";
import type { SendToListeners } from "../../outbound/webhooks.ts";
import { withinTime } from "../../lib/timeout.ts";
import { listenersObject, type ObjectNamespaces } from "../object-names.ts";

/**
 * Returns the function that sends a callback to the listeners of an account (programs that get callbacks over a
 * WebSocket) and returns the first answer that a listener passes back. Its result is `unreachable` with the cause
 * `no_listener` when no listener is connected. It is `interrupted` when the Durable Object of the listeners fails, e.g.
 * because a deployment has replaced it, so that the next attempt follows soon.
 */
export function toListeners(env: ObjectNamespaces): SendToListeners {
  return async (accountId, { headers, body }, timeoutMs) => {
    const call = async (): Promise<AttemptResult> =>
      listenersObject(env, accountId).sendToListeners({ headers, body }, timeoutMs);
    try {
      return await withinTime(call, unansweredAttempt("timeout"), timeoutMs);
    } catch (error) {
      log({ event: "call.unanswered", what: "listeners", error: errorText(error) }, "warn");
      return unansweredAttempt("interrupted");
    }
  };
}

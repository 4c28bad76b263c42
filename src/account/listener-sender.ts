import type { SendToListeners } from "../outbound/webhooks.ts";
import type { AccountBindings } from "./object-names.ts";

/**
 * Returns the function that sends callbacks to the listeners of accounts. Its module is evaluated at the first
 * such callback, because most relays have none.
 */
export function toListeners(env: AccountBindings): SendToListeners {
  return async (...callback) => {
    const { sendToListeners } = await import("./send-to-listeners.ts");
    return sendToListeners(env, ...callback);
  };
}

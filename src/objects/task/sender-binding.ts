import type { Delivery } from "../../core/duties/callback-attempt.ts";
import type { EndedAttempt } from "./ended-attempt.ts";

/**
 * The entrypoint `Sender` of this Worker (sender.ts), as task objects call it. src/startup.ts adds it to the environment.
 */
export interface SenderBinding {
  readonly SENDER: {
    /**
     * Sends one attempt of a callback.
     * @returns null when its receiver has not answered soon; the end then comes by `TaskObject.endAttempt`.
     */
    sendCallback(delivery: Delivery): Promise<EndedAttempt | null>;
  };
}

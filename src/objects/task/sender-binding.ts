import type { Delivery } from "../../core/duties/callback-attempt.ts";
import type { AttemptResult } from "../../core/record/callback.ts";

/** The parts of a delivery that are needed to store, log and measure the end of its attempt. */
export type SentAttempt = Pick<
  Delivery,
  "taskId" | "number" | "startedAt" | "url" | "account" | "provider" | "trace"
>;

/** An attempt of a callback that has ended, as its sender reports it to the task's object. */
export interface EndedAttempt {
  readonly attempt: SentAttempt;
  readonly result: AttemptResult;
  /** Time at which the receiver had answered or the sender stopped waiting, in Unix milliseconds. */
  readonly endedAt: number;
}

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

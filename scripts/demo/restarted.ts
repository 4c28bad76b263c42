import type { Receivers } from "./receivers.ts";
import type { RelayClient } from "./relay-client.ts";
import { ACCOUNT, COMPLETED, FAILED, finish, ofAccount, register, report } from "./seed.ts";

/** Ids of tasks whose states a restart of the relay brings about. */
export interface RestartedTasks {
  /** Task whose callback has an attempt under way at the restart. */
  readonly interrupted: string;
  /** Task whose callback only the settings before the restart permit. */
  readonly blocked: string;
  /** Task whose credits can be refunded only with the settings before the restart. */
  readonly unrefunded: string;
}

/** Settings of the relay before the restart, in addition to those that it always has. */
export const SETTINGS_BEFORE_RESTART = {
  LISTEN: "true",
  // No task fails before the restart, so that this address is never called.
  SETTLEMENT_URL: "https://billing.example.com/refunds",
  // The attempt that hangs must still be under way when a slow machine has stopped the relay.
  CALLBACK_TIMEOUT_S: "24",
};

/** Settings after the restart. They are given explicitly, so that they override other values in `.dev.vars`. */
export const SETTINGS_AFTER_RESTART = { LISTEN: "false", SETTLEMENT_URL: "" };

/**
 * Registers the tasks on a relay with `SETTINGS_BEFORE_RESTART`, and waits until one of them has an attempt
 * under way. The account must exist.
 */
export async function registerBeforeRestart(
  relay: RelayClient,
  { healthy, hangingAtFirst }: Receivers,
): Promise<RestartedTasks> {
  const model = "kling-v2.5-turbo";
  const blocked = await register(relay, { model, account: ACCOUNT, callback_url: "listen:" });
  const unrefunded = await register(relay, ofAccount({ model, callback_url: healthy.url }));
  const order = { model, callback_url: hangingAtFirst.url };
  const interrupted = await finish(relay, order, COMPLETED);
  await relay.until(interrupted, /"attempts":\[\{/);
  return { interrupted, blocked, unrefunded };
}

/**
 * Brings the tasks into their states after the restart: the attempt that was under way is `interrupted`, that
 * to `listen:` is `blocked`, and the callback of the third task waits for a refund that is impossible without
 * `SETTLEMENT_URL`.
 * @returns the ids of the tasks.
 */
export async function finishAfterRestart(
  relay: RelayClient,
  { interrupted, blocked, unrefunded }: RestartedTasks,
): Promise<readonly string[]> {
  // Otherwise the attempt would be found interrupted only after the timeout that it began with.
  await relay.post("/v1/wake", { ids: [interrupted] });
  await report(relay, blocked, COMPLETED);
  await report(relay, unrefunded, FAILED);
  await relay.until(unrefunded, /"waits_for":"refund"/);
  await relay.until(blocked, /"outcome":"blocked"/);
  await relay.until(interrupted, /"outcome":"interrupted".*"outcome":"delivered"/);
  return [interrupted, blocked, unrefunded];
}

import type { Settings } from "../core/policy.ts";
import { POLL_TIMEOUT_MS } from "../lib/timeout.ts";
import { canCancel } from "../providers/provider.ts";
import type { Keyring } from "../security/keyring.ts";
import type { Config } from "./config.ts";
import { outputLinksOf } from "./linked-outputs.ts";

const NONE_PAUSED: ReadonlyMap<string, number> = new Map();

/**
 * Returns the settings that decide what happens to tasks, selected from the configuration for src/core, which applies
 * them.
 * @param keyring keys of the relay. Only the names of the secrets that can decrypt customers' keys, and a function that
 * makes links to outputs, are passed on to src/core.
 * @param jitter random number from 0 to 1.
 * @param watchdogMarginMs time in milliseconds after the limit of the longest call, for `Settings.watchdogMs`.
 */
export function policyOf(
  config: Config,
  { sealingKeys, outputKeys }: Pick<Keyring, "sealingKeys" | "outputKeys">,
  now: number,
  jitter: number,
  watchdogMarginMs: number,
): Settings {
  return {
    scheduleMs: config.scheduleMs,
    watchdogMs: Math.max(config.callbackTimeoutMs, POLL_TIMEOUT_MS) + watchdogMarginMs,
    taskDeadlineMs: config.taskDeadlineMs,
    retentionMs: config.retentionMs,
    indexRetentionMs: config.indexRetentionMs,
    firstRowDelayMs: config.firstRowDelayMs,
    pausedAt: config.paused ? now : null,
    pausedHosts: NONE_PAUSED,
    polls: config.polls,
    customerPolls: config.customerPolls,
    sealingIds: sealingKeys,
    isCancelable: ({ connection, job }, hasCustomerKey) => {
      const known = config.connections.get(connection);
      return known !== undefined && canCancel(known, job, hasCustomerKey);
    },
    pollLateness: config.pollLateness,
    submitTimeoutMs: config.submitTimeoutMs,
    asyncTimeoutMs: config.asyncTimeoutMs,
    queueMs: config.queueMs,
    submitUnknownMs: config.submitUnknownMs,
    outputs: outputLinksOf(config, outputKeys),
    jitter,
    isIndexed: config.isIndexed,
    isOperatorNotified: config.operatorCallbackUrl !== null,
    unwantedNotices: config.unwantedEvents,
  };
}

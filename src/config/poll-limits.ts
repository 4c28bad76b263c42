import type { PollLimits } from "../core/policy.ts";
import { HOUR_MS, MINUTE_MS } from "../core/time.ts";
import type { Connection, UpstreamProvider } from "../providers/provider.ts";

/** Age of a job at which its hook is late, in milliseconds, where the relay can verify the body of hooks. */
const VERIFIED_HOOK_WAIT_MS = 2 * MINUTE_MS;
/**
 * Age of a job at which its hook is late, in milliseconds, where the relay cannot verify the body of hooks:
 * they are not signed, or no secret or key to check them is known.
 */
const UNVERIFIED_HOOK_WAIT_MS = MINUTE_MS;
/**
 * Life of a provider's output links below which polls do not wait for a hook: after a lost hook, the links
 * could be dead when a poll finds them.
 */
const SHORT_LINK_LIFE_MS = HOUR_MS;

/** Returns the limits of the polls of a connection; null when it cannot be polled. */
export function pollLimits(connection: Connection): PollLimits | null {
  const { provider, key } = connection;
  if (provider.polls === null) return provider.simulation.limits;
  if (key === null) return null;
  const { gapMs, maxAgeMs, endpoint, namesTask: isTaskNamed = false } = provider.polls;
  const isIdEnough = endpoint?.isRequired !== true;
  const hookWaitMs = hookWaitOf(connection);
  return { hookWaitMs, gapMs, maxAgeMs, isIdEnough, isTaskNamed };
}

/**
 * Tells whether hooks are expected for the jobs of a connection. Where only some installations of a provider
 * send hooks, they are expected only if the provider signs them and the operator has set a webhook secret.
 */
function areHooksExpected({ provider, webhookSecret }: Connection): boolean {
  const { hooks } = provider;
  if (hooks === null) return false;
  const isVerified = hooks.assurance === "body-signed" && webhookSecret !== null;
  return hooks.isOptional !== true || isVerified;
}

/**
 * Tells whether results of the tasks of a connection can arrive: from a simulation, by polls, which need an API
 * key, or by hooks.
 */
export function canHaveResults(connection: Connection): boolean {
  const { provider, key } = connection;
  return provider.polls === null || key !== null || areHooksExpected(connection);
}

/**
 * Returns the age of a job at which its hook is late, in milliseconds; 0 when polls do not wait for it, null
 * when none is expected.
 */
function hookWaitOf(connection: Connection): number | null {
  const { provider, webhookSecret, jwksUrl } = connection;
  if (provider.hooks === null || !areHooksExpected(connection)) return null;
  if (areLinksShortLived(provider)) return 0;
  const isVerified = webhookSecret !== null || jwksUrl !== null;
  return provider.hooks.assurance === "body-signed" && isVerified
    ? VERIFIED_HOOK_WAIT_MS
    : UNVERIFIED_HOOK_WAIT_MS;
}

function areLinksShortLived({ linkLife }: UpstreamProvider): boolean {
  return linkLife !== null && linkLife !== "stated" && linkLife.minMs < SHORT_LINK_LIFE_MS;
}

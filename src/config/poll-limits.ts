import type { PollLimits } from "../core/policy.ts";
import { HOUR_MS, MINUTE_MS } from "../core/time.ts";
import { areHooksVerified } from "../providers/verifies-hooks.ts";
import {
  type Connection,
  type PollAdapter,
  type UpstreamProvider,
  withCustomerKey,
} from "../providers/provider.ts";

/**
 * Age of a job in milliseconds at which its hook counts as late, for connections for which the relay can verify that
 * the provider wrote the bodies of its hooks.
 */
const VERIFIED_HOOK_WAIT_MS = 2 * MINUTE_MS;
/**
 * Age of a job in milliseconds at which its hook counts as late, for connections for which the relay cannot verify who
 * wrote the bodies of its hooks: the bodies are not signed, or the secret or key to check them is not known.
 */
const UNVERIFIED_HOOK_WAIT_MS = MINUTE_MS;
/**
 * Time in milliseconds. If a provider's links to outputs work for less than this time, polls do not wait for a hook: if
 * the hook were lost, the links could be dead before a poll finds them.
 */
const SHORT_LINK_LIFE_MS = HOUR_MS;

/** Returns the poll limits of a connection. Null when the connection cannot be polled. */
export function pollLimits(connection: Connection): PollLimits | null {
  const { provider, key } = connection;
  if (provider.polls === null) return provider.simulation.limits;
  return key === null ? null : limitsWith(connection, provider.polls);
}

/**
 * Returns the limits of polls that are made with a customer's key instead of the key of the connection. They are the
 * same, except that no hook counts as verified. Null for a simulated provider, which needs no key.
 */
export function customerPollLimits(connection: Connection): PollLimits | null {
  const { polls } = connection.provider;
  return polls === null ? null : limitsWith(withCustomerKey(connection, null), polls);
}

function limitsWith(connection: Connection, adapter: PollAdapter): PollLimits | null {
  if (adapter.hasNoJobs === true) return null;
  const { gapMs, maxAgeMs, endpoint, namesTask: isTaskNamed = false } = adapter;
  const { statesCreation: isCreationStated = false } = adapter;
  const isIdEnough = endpoint?.isRequired !== true;
  const hookWaitMs = hookWaitOf(connection);
  return { hookWaitMs, gapMs, maxAgeMs, isIdEnough, isTaskNamed, isCreationStated };
}

/**
 * Tells whether hooks are expected for the jobs of a connection. If only some installations of a provider send
 * hooks, hooks are expected only when the provider signs their bodies and the relay can verify them.
 */
function areHooksExpected(connection: Connection): boolean {
  const { hooks } = connection.provider;
  return hooks !== null && (hooks.isOptional !== true || areBodiesVerified(connection));
}

/** Tells whether the relay verifies that the provider wrote the bodies of a connection's hooks. */
function areBodiesVerified(connection: Connection): boolean {
  return connection.provider.hooks?.assurance === "body-signed" && areHooksVerified(connection);
}

/**
 * Tells whether the relay can get results for the tasks of a connection: from a simulation, by polls (which need an
 * API key), or by hooks.
 */
export function canHaveResults(connection: Connection): boolean {
  const { provider, key } = connection;
  return provider.polls === null || key !== null || areHooksExpected(connection);
}

/**
 * Returns the age of a job in milliseconds at which its hook counts as late. 0 when polls do not wait for the hook.
 * Null when no hook is expected.
 */
function hookWaitOf(connection: Connection): number | null {
  const { provider } = connection;
  if (provider.hooks === null || !areHooksExpected(connection)) return null;
  if (areLinksShortLived(provider)) return 0;
  return areBodiesVerified(connection) ? VERIFIED_HOOK_WAIT_MS : UNVERIFIED_HOOK_WAIT_MS;
}

function areLinksShortLived({ linkLife }: UpstreamProvider): boolean {
  return linkLife !== null && linkLife !== "stated" && linkLife.minMs < SHORT_LINK_LIFE_MS;
}

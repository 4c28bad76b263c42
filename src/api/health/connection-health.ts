import { connectionObject } from "../../objects/object-names.ts";
import type { ConnectionState } from "../../objects/connection/connection-object.ts";
import type { Config } from "../../config/config.ts";
import { keySettingOf, settingsNeededBy } from "../../config/needed-settings.ts";
import { canHaveResults } from "../../config/poll-limits.ts";
import { HOUR_MS, MINUTE_MS, toSeconds } from "../../core/time.ts";
import type { Env } from "../../env.ts";
import type { Connection } from "../../providers/provider.ts";
import { PROVIDERS, SIMULATED_PROVIDERS } from "../../providers/registry.ts";
import { callObject } from "../http/object-call.ts";
import { placesView, queuesIn } from "./queue-health.ts";

/**
 * Time in milliseconds for which `/healthz` shows that a provider has refused the API key, or has refused submissions
 * because the account there has no money left. It exceeds every wait between two polls of a job, so that the refusal
 * stays visible while polls go on.
 */
const REFUSAL_SHOWN_MS = 35 * MINUTE_MS;
/**
 * Time in milliseconds for which `/healthz` shows a provider's response that the relay did not understand. It exceeds
 * one hour, because such a response is stored at most once an hour.
 */
const UNCLEAR_SHOWN_MS = 2 * HOUR_MS;

/**
 * Returns, for `/healthz`, each connection (a set of credentials for a provider) that has an API key or needs none, with
 * its limits of jobs and the state of its queue, if it has any, and with its present faults: the provider has refused the
 * key, or has refused submissions because the account there has no money left (within the last 35 minutes); expected
 * hooks do not come; or the relay did not understand the response to a poll (within the last two hours).
 */
export async function connectionsOf(config: Config, env: Env) {
  const { connections } = config;
  const queues = queuesIn(config, env);
  const withKey = [...connections.values()].filter(
    ({ key, pool }) => key !== null && pool === null,
  );
  const entries = withKey.map(async ({ name, provider, key, inFlight, queueLimit }) => {
    const { keyRefusedAt, fundsRefusedAt, ...known } = await callObject(() =>
      connectionObject(env, name).connectionState(),
    );
    const [refusedAt, unpaidAt] = [recent(keyRefusedAt), recent(fundsRefusedAt)];
    const state =
      refusedAt === null
        ? { key: key === "" ? "not_needed" : "set" }
        : { key: "refused", refused_at: refusedAt };
    const funds = unpaidAt === null ? {} : { funds_refused_at: unpaidAt };
    const hooks = known.areHooksMissing ? { hooks: "missing" } : {};
    const faults = { ...funds, ...hooks, ...unclearOf(known) };
    const limits = inFlight === null ? {} : { in_flight: inFlight, queue: queueLimit };
    const queue = (await queues).find(({ connection }) => connection.name === name);
    const places = queue === undefined ? {} : { places: placesView(queue.state) };
    return [name, { provider: provider.name, ...state, ...limits, ...places, ...faults }] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}

/** Returns, for `/healthz`, each pool with its members and limits, by name. */
export function poolsOf({ connections }: Config) {
  const pools = [...connections.values()].flatMap(({ name, provider, queueLimit, pool }) => {
    if (pool === null) return [];
    const of = pool.members.map((member) => member.name);
    const failures = pool.submitsFailedAgain ? { failures: true } : {};
    return [[name, { provider: provider.name, of, queue: queueLimit, ...failures }] as const];
  });
  return Object.fromEntries(pools);
}

/**
 * Returns the time of a refusal in Unix seconds.
 * @returns null when there was no refusal, or when it is too long ago to be shown.
 */
function recent(at: number | null): number | null {
  return at !== null && Date.now() - at < REFUSAL_SHOWN_MS ? toSeconds(at) : null;
}

/**
 * Returns the last response of a connection's provider that the relay did not understand, unless it is older than two
 * hours.
 */
function unclearOf({ unclear }: Pick<ConnectionState, "unclear">) {
  if (unclear === null || Date.now() - unclear.at >= UNCLEAR_SHOWN_MS) return {};
  const { at, statusCode, word } = unclear;
  return { unclear: { at: toSeconds(at), status_code: statusCode, word } };
}

/** Entry of `/healthz` for a connection that has no API key, or for a provider that has no connection. */
interface WithoutKey {
  readonly provider: string;
  /**
   * Names of the settings that the connection or provider lacks, e.g. `FAL_KEY`; empty for a simulated provider that is
   * switched on.
   */
  readonly needs: readonly string[];
  /**
   * True when a task may be registered with the connection, because its result can come by hooks or from a simulation.
   */
  readonly accepts_tasks: boolean;
}

/**
 * Returns, for `/healthz`, each connection that has no API key and each provider that has no connection, with the
 * settings that are missing. All other connections are returned by `connectionsOf`.
 */
export function withoutKey({ connections }: Config): Readonly<Record<string, WithoutKey>> {
  const names = [...PROVIDERS.keys(), ...SIMULATED_PROVIDERS.map(({ name }) => name)];
  const missing = names.filter((name) => !connections.has(name));
  const keyless = [...connections.values()].filter(({ key }) => key === null);
  return Object.fromEntries([
    ...keyless.map((connection) => [connection.name, keylessView(connection)] as const),
    ...missing.map((name) => [name, missingView(name)] as const),
  ]);
}

function keylessView(connection: Connection): WithoutKey {
  const key = keySettingOf(connection);
  return {
    provider: connection.provider.name,
    needs: key === null ? [] : [key],
    accepts_tasks: canHaveResults(connection),
  };
}

function missingView(provider: string): WithoutKey {
  return { provider, needs: settingsNeededBy(provider), accepts_tasks: false };
}

import { RATE_LIMITS } from "../config/rate-limits.ts";
import type { Config } from "../config/config.ts";
import { OPERATOR_EVENT_TYPES } from "../config/operator-events.ts";
import { versionOf } from "../config/runtime.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS, toSeconds } from "../core/time.ts";
import type { Env } from "../env.ts";
import type { ConnectionState } from "../account/failure-methods.ts";
import { connectionObject } from "../account/object-names.ts";
import { placedRuntimeOf } from "../account/placed-runtime.ts";
import { may } from "../task-object/caller.ts";
import { json } from "./http/answer.ts";
import { operatorOf } from "./http/auth.ts";
import { callObject } from "./http/object-call.ts";
import { publicRoute } from "./http/route.ts";

/**
 * Time in milliseconds after a provider has refused an API key for which `/healthz` shows the refusal: longer
 * than any pause between two polls, so that it stays visible while polls go on.
 */
const REFUSAL_SHOWN_MS = 15 * MINUTE_MS;
/**
 * Time in milliseconds for which `/healthz` shows an answer of a provider that the relay did not understand:
 * longer than the hour after which the next such answer is stored.
 */
const UNCLEAR_SHOWN_MS = 2 * HOUR_MS;

export const readHealth = publicRoute(
  {
    id: "readHealth",
    method: "GET",
    path: "/healthz",
  },
  async ({ env, request }) => {
    const result = await placedRuntimeOf(env);
    if (!result.ok) {
      const headers = { "Retry-After": "60" };
      return json({ status: "not_configured", issues: result.error }, 503, headers);
    }
    const runtime = result.value;
    const { config } = runtime;
    const head = { status: "ok", version: versionOf(env), paused: config.paused };
    const operator = await operatorOf(request.headers, runtime);
    if (operator === null || !may(operator, "statistics")) return json(head);
    const connections = await connectionsOf(config, env);
    return json({ ...head, configuration: configurationOf(config, env), connections });
  },
);

/** Returns the configuration of the relay, by the names and in the units of the variables. */
export function configurationOf(config: Config, env: Env) {
  return { ...settingsOf(config), ...operatorSettingsOf(config), ...rateLimitsOf(env) };
}

/**
 * Returns each connection (a set of credentials for a provider) that has an API key, with its faults, for
 * `/healthz`. Its faults are that the provider has refused the key within the last 15 minutes, that no hooks
 * come although they are expected, and that the relay did not understand an answer to one of its polls within
 * the last two hours.
 */
export async function connectionsOf({ connections }: Config, env: Env) {
  const withKey = [...connections.values()].filter(({ key }) => key);
  const entries = withKey.map(async ({ name, provider }) => {
    const { keyRefusedAt: refusedAt, ...known } = await callObject(() =>
      connectionObject(env, name).connectionState(),
    );
    const isRefused = refusedAt !== null && Date.now() - refusedAt < REFUSAL_SHOWN_MS;
    const state = isRefused ? { key: "refused", refused_at: toSeconds(refusedAt) } : { key: "set" };
    const hooks = known.areHooksMissing ? { hooks: "missing" } : {};
    return [name, { provider: provider.name, ...state, ...hooks, ...unclearOf(known) }] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}

/**
 * Returns the last answer of a connection's provider that the relay did not understand, unless it is older
 * than two hours.
 */
function unclearOf({ unclear }: Pick<ConnectionState, "unclear">) {
  if (unclear === null || Date.now() - unclear.at >= UNCLEAR_SHOWN_MS) return {};
  const { at, statusCode, word } = unclear;
  return { unclear: { at: toSeconds(at), status_code: statusCode, word } };
}

/** Returns for each rate limit whether its binding exists, for `/healthz`, by the name of the limit. */
function rateLimitsOf(env: Env) {
  return Object.fromEntries(RATE_LIMITS.map((name) => [name, env[name] !== undefined]));
}

/**
 * Returns the settings of the relay, for `/healthz`, by the names and in the units of the variables. Of
 * secrets only the number is shown.
 */
function settingsOf(config: Config) {
  return {
    CALLBACK_SCHEDULE_S: config.scheduleMs.map((ms) => ms / 1000).join(","),
    CALLBACK_TIMEOUT_S: config.callbackTimeoutMs / 1000,
    RETENTION_DAYS: config.retentionMs / DAY_MS,
    TASK_DEADLINE_HOURS: config.taskDeadlineMs / HOUR_MS,
    MAX_BODY_KB: config.maxBodyBytes / 1024,
    ALLOW_LOCAL_CALLBACKS: config.allowLocalCallbacks,
    ALLOW_IP_CALLBACKS: config.allowIpCallbacks,
    EXTRA_BASE_HOSTS: config.extraBaseHosts.join(" "),
    PAUSED: config.paused,
    LOG: config.logsDetails ? "all" : "normal",
    ERROR_TEXT: config.isErrorTextGeneric ? "generic" : "upstream",
    INDEX_DB: config.isIndexed,
    INDEX_RETENTION_DAYS: config.indexRetentionMs / DAY_MS,
    INDEX_SHARD_HOURS: config.indexShardMs === null ? null : config.indexShardMs / HOUR_MS,
    SANDBOX: config.isSandboxOn,
    LISTEN: config.isListenOn,
    JURISDICTION: config.jurisdiction,
    LOCATION_HINT: config.locationHint,
    PUBLIC_URL: config.publicUrl,
    SETTLEMENT_URL: config.settlementUrl === null ? null : new URL(config.settlementUrl).origin,
    secrets: {
      RELAY_SECRET: config.relaySecrets.length,
      OPERATOR_KEYS: config.operatorKeys.length,
      SIGNING_SECRETS: config.signingSecrets?.length ?? 0,
      EVENTS_SECRETS: config.eventsSecrets?.length ?? 0,
      SIGNING_KEYS: config.signingKeys?.length ?? 0,
    },
  };
}

/** Returns the settings of operator events (messages to `OPERATOR_CALLBACK_URL`), for `/healthz`. */
function operatorSettingsOf(config: Config) {
  const types = OPERATOR_EVENT_TYPES.filter((type) => !config.unwantedEvents.has(type));
  return {
    OPERATOR_CALLBACK_URL:
      config.operatorCallbackUrl === null ? null : new URL(config.operatorCallbackUrl).origin,
    OPERATOR_EVENTS: types.join(" "),
    OPERATOR_DIGEST_MINUTES: config.digestMs === null ? null : config.digestMs / MINUTE_MS,
    SILENCE_MINUTES: config.silenceMs === null ? null : config.silenceMs / MINUTE_MS,
    OPERATOR_CALLBACK_FORMAT: config.isOperatorOnSlack ? "slack" : "standard",
  };
}

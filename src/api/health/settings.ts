import type { Config } from "../../config/config.ts";
import { formOfOffer } from "../../config/offers.ts";
import { OPERATOR_EVENT_TYPES } from "../../config/operator-events.ts";
import { RATE_LIMITS } from "../../config/rate-limits.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from "../../core/time.ts";
import type { Env } from "../../env.ts";

/**
 * Returns the configuration of the relay, for `/healthz`, under the names and in the units of its environment
 * variables.
 */
export function configurationOf(config: Config, env: Env) {
  return {
    ...taskSettings(config),
    ...submitSettings(config),
    ...outputSettings(config),
    ...placeSettings(config),
    ...operationSettings(config),
    ...rateLimits(env),
    secrets: secretCounts(config),
  };
}

/** Settings by the name of their variable. */
type Settings = Readonly<Record<string, string | number | boolean | null>>;

/**
 * Returns the configuration of the relay in groups, each with its title, for people. Of offers and secrets it has only
 * the numbers.
 */
export function settingGroups(
  config: Config,
  env: Env,
): readonly (readonly [title: string, settings: Settings])[] {
  const { OFFERS, ...submit } = submitSettings(config);
  return [
    ["Tasks and callbacks", taskSettings(config)],
    ["Submissions", { ...submit, OFFERS: `${OFFERS.length} set` }],
    ["Outputs", outputSettings(config)],
    ["Addresses and the place of the data", placeSettings(config)],
    ["Operation", operationSettings(config)],
    ["Limits of requests", rateLimits(env)],
    [
      "Secrets",
      Object.fromEntries(
        Object.entries(secretCounts(config)).map(([name, count]) => [name, `${count} set`]),
      ),
    ],
  ];
}

/** Returns whether each rate limit limits something, by the name of the rate limit. */
function rateLimits(env: Env) {
  return Object.fromEntries(RATE_LIMITS.map((name) => [name, env[name] !== undefined]));
}

/** Returns the settings that decide when tasks end, are called back and are erased. */
function taskSettings(config: Config) {
  return {
    CALLBACK_SCHEDULE_S: config.scheduleMs.map((ms) => ms / 1000).join(","),
    CALLBACK_TIMEOUT_S: config.callbackTimeoutMs / 1000,
    RETENTION_DAYS: config.retentionMs / DAY_MS,
    TASK_DEADLINE_HOURS: config.taskDeadlineMs / HOUR_MS,
    MAX_BODY_KB: config.maxBodyBytes / 1024,
    ERROR_TEXT: config.isErrorTextGeneric ? "generic" : "upstream",
    SETTLEMENT_URL: config.settlementUrl === null ? null : new URL(config.settlementUrl).origin,
  };
}

/** Returns the settings of submissions. The offers are in the form in which the variable `OFFERS` has them. */
function submitSettings(config: Config) {
  return {
    MAX_SUBMIT_MB: config.maxSubmitBytes / 1024 / 1024,
    SUBMIT_TIMEOUT_S: config.submitTimeoutMs / SECOND_MS,
    ASYNC_TIMEOUT_S: config.asyncTimeoutMs / SECOND_MS,
    MAX_ASYNC_MB: config.maxAsyncBytes / 1024 / 1024,
    QUEUE_MINUTES: config.queueMs / MINUTE_MS,
    SUBMIT_UNKNOWN_MINUTES: config.submitUnknownMs / MINUTE_MS,
    OFFERS: config.offers?.all.map(formOfOffer) ?? [],
    SANDBOX: config.isSandboxOn,
  };
}

/**
 * Returns the settings of outputs. `OUTPUTS_URL` is the origin with which links to outputs begin: when this variable is
 * not set, the value of `PUBLIC_URL`.
 */
function outputSettings(config: Config) {
  return {
    OUTPUTS: config.areOutputsKept,
    OUTPUTS_S3_URL: config.s3?.url ?? null,
    OUTPUTS_S3_REGION: config.s3?.region ?? null,
    OUTPUTS_S3_BUCKET: config.s3?.bucket ?? null,
    OUTPUTS_URL: config.outputsOrigin,
    OUTPUT_DAYS: config.outputLifeMs / DAY_MS,
    MAX_OUTPUT_MB: config.maxOutputBytes / 1024 / 1024,
  };
}

/** Returns the settings that decide how the relay is reached, whom it calls, and where its data are. */
function placeSettings(config: Config) {
  return {
    PUBLIC_URL: config.publicUrl,
    JURISDICTION: config.jurisdiction,
    LOCATION_HINT: config.locationHint,
    ALLOW_LOCAL_CALLBACKS: config.allowLocalCallbacks,
    ALLOW_IP_CALLBACKS: config.allowIpCallbacks,
    EXTRA_BASE_HOSTS: config.extraBaseHosts.join(" "),
    LISTEN: config.isListenOn,
  };
}

/** Returns the settings of the index, of operator events (messages to `OPERATOR_CALLBACK_URL`) and of the operation. */
function operationSettings(config: Config) {
  const types = OPERATOR_EVENT_TYPES.filter((type) => !config.unwantedEvents.has(type));
  return {
    PAUSED: config.paused,
    LOG: config.logsDetails ? "all" : "normal",
    PLAN: config.plan,
    RATE_LIMITS: [...config.rateLimits].map((entry) => entry.join("=")).join(" "),
    INDEX_DB: config.isIndexed && !config.isIndexInObject,
    INDEX_OBJECT: config.isIndexInObject,
    INDEX_RETENTION_DAYS: config.indexRetentionMs / DAY_MS,
    INDEX_DELAY_S: config.firstRowDelayMs / SECOND_MS,
    INDEX_SHARD_HOURS: config.indexShardMs === null ? null : config.indexShardMs / HOUR_MS,
    OPERATOR_CALLBACK_URL:
      config.operatorCallbackUrl === null ? null : new URL(config.operatorCallbackUrl).origin,
    OPERATOR_EVENTS: types.join(" "),
    OPERATOR_DIGEST_MINUTES: config.digestMs === null ? null : config.digestMs / MINUTE_MS,
    SILENCE_MINUTES: config.silenceMs === null ? null : config.silenceMs / MINUTE_MS,
    OPERATOR_CALLBACK_FORMAT: config.isOperatorOnSlack ? "slack" : "standard",
  };
}

/** Returns how many secrets of each kind there are. */
function secretCounts(config: Config) {
  return {
    RELAY_SECRET: config.relaySecrets.length,
    OPERATOR_KEYS: config.operatorKeys.length,
    SIGNING_SECRETS: config.signingSecrets?.length ?? 0,
    EVENTS_SECRETS: config.eventsSecrets?.length ?? 0,
    SIGNING_KEYS: config.signingKeys?.length ?? 0,
  };
}

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
    ...settingsOf(config),
    ...submitSettingsOf(config),
    ...outputSettingsOf(config),
    ...operatorSettingsOf(config),
    ...rateLimitsOf(env),
  };
}

/** Returns, for `/healthz`, whether each rate limit limits something, by the name of the rate limit. */
function rateLimitsOf(env: Env) {
  return Object.fromEntries(RATE_LIMITS.map((name) => [name, env[name] !== undefined]));
}

/**
 * Returns the settings of the relay, for `/healthz`, under the names and in the units of their environment variables.
 * Secrets are not shown, only how many there are.
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
    PLAN: config.plan,
    RATE_LIMITS: [...config.rateLimits].map((entry) => entry.join("=")).join(" "),
    ERROR_TEXT: config.isErrorTextGeneric ? "generic" : "upstream",
    INDEX_DB: config.isIndexed && !config.isIndexInObject,
    INDEX_OBJECT: config.isIndexInObject,
    INDEX_RETENTION_DAYS: config.indexRetentionMs / DAY_MS,
    INDEX_DELAY_S: config.firstRowDelayMs / SECOND_MS,
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

/**
 * Returns, for `/healthz`, the settings of submissions. The offers are in the form in which the variable `OFFERS` has
 * them.
 */
function submitSettingsOf(config: Config) {
  return {
    MAX_SUBMIT_MB: config.maxSubmitBytes / 1024 / 1024,
    SUBMIT_TIMEOUT_S: config.submitTimeoutMs / SECOND_MS,
    ASYNC_TIMEOUT_S: config.asyncTimeoutMs / SECOND_MS,
    MAX_ASYNC_MB: config.maxAsyncBytes / 1024 / 1024,
    QUEUE_MINUTES: config.queueMs / MINUTE_MS,
    SUBMIT_UNKNOWN_MINUTES: config.submitUnknownMs / MINUTE_MS,
    OFFERS: config.offers?.all.map(formOfOffer) ?? [],
  };
}

/**
 * Returns the settings of outputs, for `/healthz`. `OUTPUTS_URL` is the origin with which links to outputs begin: when
 * this variable is not set, the value of `PUBLIC_URL`.
 */
function outputSettingsOf(config: Config) {
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

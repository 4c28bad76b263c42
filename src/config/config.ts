import { OfferList } from "../core/offers/offer-list.ts";
import type { PollLimits } from "../core/policy.ts";
import { failure, type Result, success } from "../core/result.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from "../core/time.ts";
import type { LogSettings } from "../lib/log.ts";
import type { Connection } from "../providers/provider.ts";
import type { Secrets } from "../security/keyring.ts";
import type { OperatorKey, OperatorRole } from "../security/roles.ts";
import { IP_REFUSAL, isIpLiteral, isLoopback } from "../security/url-rules.ts";
import type { BaseUrlRules } from "./base-url.ts";
import type { OperatorBrand } from "./operator-brand.ts";
import { type Connections, parseConnections } from "./connections.ts";
import { type IndexConfig, parseIndexConfig } from "./index-config.ts";
import type { DisabledConnection } from "./declared-connections.ts";
import type { ConfigIssue } from "./issue.ts";
import { unconnectedOffers } from "./offers.ts";
import { type OutputConfig, parseOutputConfig } from "./output-config.ts";
import type { Placement } from "./placement.ts";
import type { RateLimitName } from "./rate-limits.ts";
import { type ParsedVariables, Variables } from "./variables.ts";

/**
 * Configuration of the relay, parsed from variables and secrets. Durations are in milliseconds, sizes in
 * bytes; lists of keys and secrets are newest first.
 */
export interface Config extends Secrets, Placement, IndexConfig, OutputConfig, LogSettings {
  readonly scheduleMs: readonly number[];
  readonly callbackTimeoutMs: number;
  readonly retentionMs: number;
  readonly taskDeadlineMs: number;
  readonly maxBodyBytes: number;
  /**
   * Largest JSON body of a submission, in bytes. A submission is a request that the relay passes on to an upstream to
   * start a job.
   */
  readonly maxSubmitBytes: number;
  /** Time in milliseconds within which the upstream must answer a submission. */
  readonly submitTimeoutMs: number;
  /**
   * Time in milliseconds within which the upstream must answer a submission whose client does not wait for the answer.
   */
  readonly asyncTimeoutMs: number;
  /** Largest form (multipart body) of a submission whose client does not wait for the upstream's answer, in bytes. */
  readonly maxAsyncBytes: number;
  /**
   * Time in milliseconds for which the call of a submission whose client does not wait for the answer waits to be sent,
   * unless the client states a time.
   */
  readonly queueMs: number;
  /**
   * Time in milliseconds that a task waits for news of its job after a submission whose outcome is unknown. Without
   * news the task then fails.
   */
  readonly submitUnknownMs: number;
  /** The offers of the variable `OFFERS`. Null when it is not set, so that the relay's own store has the offers. */
  readonly offers: OfferList | null;
  readonly allowLocalCallbacks: boolean;
  /**
   * True when the relay may send requests to URLs that contain a public IP address. On Cloudflare this is not possible.
   */
  readonly allowIpCallbacks: boolean;
  /** Hosts of proxies and AI gateways, with port if it is not 443, to which the base URL of any connection may lead. */
  readonly extraBaseHosts: readonly string[];
  /**
   * True when the relay is paused: polls and callback attempts wait (`startAt` in core/policy.ts), and everything
   * else goes on.
   */
  readonly paused: boolean;
  /** Origin under which others reach the relay. Null means that the origin addressed by each request is used. */
  readonly publicUrl: string | null;
  readonly operatorKeys: readonly OperatorKey[];
  /** Connections to providers, by name of the connection. */
  readonly connections: ReadonlyMap<string, Connection>;
  /** Connections with a fault that concerns only them. The relay sends nothing to them. */
  readonly disabledConnections: readonly DisabledConnection[];
  /** Poll limits of the connections that can be polled, by name of the connection. */
  readonly polls: ReadonlyMap<string, PollLimits>;
  /** Poll limits for jobs that are polled with a customer's key, by name of the connection. */
  readonly customerPolls: ReadonlyMap<string, PollLimits>;
  /** Largest delay with which a poll finds the result of a job, as a fraction of the job's age (`POLL_LATENESS`). */
  readonly pollLateness: number;
  /**
   * True when tasks can name the simulated providers, which are for tests of receivers and call no upstream
   * (`SANDBOX`).
   */
  readonly isSandboxOn: boolean;
  /**
   * True when accounts may connect listeners (programs that receive callbacks over a WebSocket), and tasks with an
   * account may have the `callback_url` `listen:`, which leads to them.
   */
  readonly isListenOn: boolean;
  /** URL to which the relay sends operator events, e.g. about a failed callback; null when no URL is configured. */
  readonly operatorCallbackUrl: string | null;
  /**
   * Types of operator events (messages to `OPERATOR_CALLBACK_URL`) that are not sent, because
   * `OPERATOR_EVENTS` does not name them.
   */
  readonly unwantedEvents: ReadonlySet<string>;
  /**
   * Time in milliseconds for which failed callbacks to one host are collected before the operator gets one event about
   * them. Null when each failed callback is reported at once.
   */
  readonly digestMs: number | null;
  /** Plan of the Cloudflare account. It decides how many D1 queries one run of the cron trigger may make. */
  readonly plan: "paid" | "free";
  /** Requests within a minute that each rate limit permits which is counted in the isolate, because no binding counts it. */
  readonly rateLimits: ReadonlyMap<RateLimitName, number>;
  /**
   * Time in milliseconds: when no task has ended for this time, the operator is alerted. Null when there is no such
   * alert.
   */
  readonly silenceMs: number | null;
  /** True when operator events have the format of Slack (`OPERATOR_CALLBACK_FORMAT=slack`). */
  readonly isOperatorOnSlack: boolean;
  /**
   * True when clients see a generic text in the error of a failed task instead of the upstream's own text
   * (`ERROR_TEXT=generic`).
   */
  readonly isErrorTextGeneric: boolean;
  /** URL of the operator's own billing, which makes refunds. Null when the ledger makes them. */
  readonly settlementUrl: string | null;
  /** Settings of Cloudflare Access, whose users the console treats as operators; null when Access is not configured. */
  readonly access: AccessConfig | null;
  readonly brand: OperatorBrand;
}

/** Settings of the application in Cloudflare Access that protects the console. */
export interface AccessConfig {
  /**
   * Origin of the operator's team at Cloudflare Access, which issues a token to each user who logs in and
   * publishes the keys that verify the tokens.
   */
  readonly origin: string;
  /** AUD tag of the application in Access. A token that was made for another application is refused. */
  readonly audience: string;
  /** Role that every user whom Access admits to the application has in the console. */
  readonly role: OperatorRole;
}

/** Compatibility flag of Cloudflare that keeps outgoing requests out of private networks. */
const PUBLIC_FETCH_FLAG = "global_fetch_strictly_public";
/**
 * Compatibility flag of Cloudflare that keeps a Durable Object in memory while it waits for answers to its own
 * requests. From the compatibility date 2026-10-01 it is set by default.
 */
const EVICTION_FLAG = "durable_object_io_tasks_prevent_eviction";

/**
 * Parses the variables, secrets and bindings that the platform passes as `env`.
 * @param flags `Cloudflare.compatibilityFlags` of the running isolate.
 */
export function parseConfig(
  vars: object,
  flags: Readonly<Record<string, boolean>>,
): Result<Config, readonly ConfigIssue[]> {
  const parsed = Variables.safeParse(vars);
  if (!parsed.success) {
    const { issues } = parsed.error;
    return failure(issues.map(({ path, message }) => ({ path: path.join("."), message })));
  }
  const { data } = parsed;
  const connected = parseConnections(vars, baseUrlRulesOf(data), data.SANDBOX);
  if (!connected.ok) return connected;
  const index = parseIndexConfig(vars, data);
  if (!index.ok) return index;
  const outputs = parseOutputConfig(data);
  if (!outputs.ok) return outputs;
  const conflicting = conflicts(data, connected.value);
  const issues = [...missingFlags(flags, data.ALLOW_LOCAL_CALLBACKS), ...conflicting];
  if (issues.length > 0) return failure(issues);
  return success({
    ...taskSettingsOf(data),
    ...submitSettingsOf(data),
    allowLocalCallbacks: data.ALLOW_LOCAL_CALLBACKS,
    allowIpCallbacks: data.ALLOW_IP_CALLBACKS,
    extraBaseHosts: data.EXTRA_BASE_HOSTS,
    pollLateness: data.POLL_LATENESS / 100,
    paused: data.PAUSED,
    logsDetails: data.LOG === "all",
    jurisdiction: data.JURISDICTION,
    locationHint: data.LOCATION_HINT,
    publicUrl: data.PUBLIC_URL,
    relaySecrets: data.RELAY_SECRET,
    operatorKeys: data.OPERATOR_KEYS,
    signingSecrets: data.SIGNING_SECRETS,
    eventsSecrets: data.EVENTS_SECRETS,
    signingKeys: data.SIGNING_KEYS,
    settlementUrl: data.SETTLEMENT_URL,
    ...connected.value,
    ...index.value,
    ...outputs.value,
    isSandboxOn: data.SANDBOX,
    isListenOn: data.LISTEN,
    isErrorTextGeneric: data.ERROR_TEXT === "generic",
    plan: data.PLAN,
    rateLimits: data.RATE_LIMITS,
    ...alertsOf(data),
    access: accessOf(data),
    brand: { name: data.BRAND_NAME, logo: data.BRAND_LOGO, color: data.BRAND_COLOR },
  });
}

/**
 * Returns the settings that decide when callbacks are sent, when tasks end and are erased, and how large the bodies of
 * requests may be.
 */
function taskSettingsOf(data: ParsedVariables) {
  return {
    scheduleMs: data.CALLBACK_SCHEDULE_S.map((seconds) => seconds * SECOND_MS),
    callbackTimeoutMs: data.CALLBACK_TIMEOUT_S * SECOND_MS,
    retentionMs: data.RETENTION_DAYS * DAY_MS,
    taskDeadlineMs: data.TASK_DEADLINE_HOURS * HOUR_MS,
    maxBodyBytes: data.MAX_BODY_KB * 1024,
  };
}

/** Returns the settings that limit submissions, and the offers of jobs that accounts may submit. */
function submitSettingsOf(data: ParsedVariables) {
  return {
    maxSubmitBytes: data.MAX_SUBMIT_MB * 1024 * 1024,
    submitTimeoutMs: data.SUBMIT_TIMEOUT_S * SECOND_MS,
    asyncTimeoutMs: data.ASYNC_TIMEOUT_S * SECOND_MS,
    maxAsyncBytes: data.MAX_ASYNC_MB * 1024 * 1024,
    queueMs: data.QUEUE_MINUTES * MINUTE_MS,
    submitUnknownMs: data.SUBMIT_UNKNOWN_MINUTES * MINUTE_MS,
    offers: data.OFFERS === null ? null : new OfferList(data.OFFERS),
  };
}

/** Returns the settings that decide which operator events are sent, to which URL and in which format. */
function alertsOf(data: ParsedVariables) {
  return {
    operatorCallbackUrl: data.OPERATOR_CALLBACK_URL,
    unwantedEvents: data.OPERATOR_EVENTS,
    digestMs: msOf(data.OPERATOR_DIGEST_MINUTES),
    silenceMs: msOf(data.SILENCE_MINUTES),
    isOperatorOnSlack: data.OPERATOR_CALLBACK_FORMAT === "slack",
  };
}

function msOf(minutes: number | null): number | null {
  return minutes === null ? null : minutes * MINUTE_MS;
}

function accessOf({
  ACCESS_TEAM: origin,
  ACCESS_AUD: audience,
  ACCESS_ROLE: role,
}: ParsedVariables): AccessConfig | null {
  return origin === null || audience === null ? null : { origin, audience, role };
}

/**
 * Returns a fault if only one of `ACCESS_TEAM` and `ACCESS_AUD` is set, because a token can be checked only with both.
 */
function accessIssues({ ACCESS_TEAM, ACCESS_AUD }: ParsedVariables): ConfigIssue[] {
  if ((ACCESS_TEAM === null) === (ACCESS_AUD === null)) return [];
  const path = ACCESS_TEAM === null ? "ACCESS_TEAM" : "ACCESS_AUD";
  return [{ path, message: "is required with ACCESS_TEAM or ACCESS_AUD" }];
}

/** Returns a fault if there is a logo but no name, because the name is also the text of the logo. */
function brandIssues({ BRAND_LOGO, BRAND_NAME }: ParsedVariables): ConfigIssue[] {
  if (BRAND_LOGO === null || BRAND_NAME !== null) return [];
  return [{ path: "BRAND_NAME", message: "is required with BRAND_LOGO" }];
}

/**
 * Returns the rules for the base URLs of connections. A base URL on the relay's own host is refused; that host is known
 * here only if `PUBLIC_URL` is set.
 */
export function baseUrlRulesOf(
  data: Pick<
    ParsedVariables,
    "ALLOW_LOCAL_CALLBACKS" | "ALLOW_IP_CALLBACKS" | "PUBLIC_URL" | "EXTRA_BASE_HOSTS"
  >,
): BaseUrlRules {
  return {
    allowLocal: data.ALLOW_LOCAL_CALLBACKS,
    allowIp: data.ALLOW_IP_CALLBACKS,
    ownOrigin: data.PUBLIC_URL ?? "",
    extraHosts: data.EXTRA_BASE_HOSTS,
  };
}

/** Returns a fault for each compatibility flag that the relay needs and that is not set for the running isolate. */
function missingFlags(flags: Readonly<Record<string, boolean>>, isLocal: boolean): ConfigIssue[] {
  const required = isLocal ? [EVICTION_FLAG] : [PUBLIC_FETCH_FLAG, EVICTION_FLAG];
  return required.flatMap((flag) =>
    flags[flag] === true ? [] : { path: "compatibility_flags", message: `must contain ${flag}` },
  );
}

/** Returns the faults of variables whose values are valid alone but contradict each other. */
function conflicts(data: ParsedVariables, connected: Connections): ConfigIssue[] {
  const unconnected = unconnectedOffers(data.OFFERS ?? [], connected);
  return [...uncallableUrls(data), ...accessIssues(data), ...brandIssues(data), ...unconnected];
}

/**
 * Returns a fault for each of `SETTLEMENT_URL`, `OPERATOR_CALLBACK_URL` and `OUTPUTS_S3_URL` that contains an IP address
 * although the relay must not call IP addresses, as on Cloudflare. The binding `OUTPUTS_S3` permits them for the store.
 */
function uncallableUrls(data: ParsedVariables): ConfigIssue[] {
  if (data.ALLOW_IP_CALLBACKS) return [];
  const { SETTLEMENT_URL, OPERATOR_CALLBACK_URL } = data;
  const OUTPUTS_S3_URL = data.OUTPUTS_S3 === undefined ? data.OUTPUTS_S3_URL : null;
  const urls = { SETTLEMENT_URL, OPERATOR_CALLBACK_URL, OUTPUTS_S3_URL };
  return Object.entries(urls).flatMap(([path, text]) => {
    const url = URL.parse(text ?? "");
    if (url === null || !isIpLiteral(url)) return [];
    return data.ALLOW_LOCAL_CALLBACKS && isLoopback(url) ? [] : { path, message: IP_REFUSAL };
  });
}

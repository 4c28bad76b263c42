import * as z from "zod";
import { isHmacSecret } from "../security/hmac.ts";
import { Ed25519JwkSchema, type Secrets } from "../security/keyring.ts";
import type { UrlPolicy } from "../security/url-policy.ts";
import { parseJson } from "../core/json.ts";
import { parseConnections } from "./connections.ts";
import type { Policy } from "../core/policy.ts";
import type { PollLimits } from "../core/record/tracking.ts";
import type { ErrorText } from "../providers/failure.ts";
import type { Connection } from "../providers/provider.ts";
import { flag, httpUrl, list, longEnough, number, nullIfEmpty, text } from "./variables.ts";
import { DAY_MS, HOUR_MS, SECOND_MS } from "../core/time.ts";

/** Vars and secrets, parsed. Durations in milliseconds, sizes in bytes; lists are newest first. */
export interface Config extends Secrets {
  readonly scheduleMs: readonly number[];
  readonly callbackTimeoutMs: number;
  readonly retentionMs: number;
  readonly taskDeadlineMs: number;
  readonly maxBodyBytes: number;
  readonly allowLocalCallbacks: boolean;
  readonly paused: boolean;
  readonly publicUrl: string | null;
  readonly operatorKeys: readonly string[];
  /** Ways to upstreams, by name. */
  readonly connections: ReadonlyMap<string, Connection>;
  /** Those of them that can be asked, and how often. */
  readonly polls: ReadonlyMap<string, PollLimits>;
  /** Where the operator is told of trouble; null: nowhere. */
  readonly operatorCallbackUrl: string | null;
  /** Whether `INDEX_DB` is bound. */
  readonly isIndexed: boolean;
  /** Whether clients do not read the upstream's own text of a failure. */
  readonly isErrorTextGeneric: boolean;
  /** Where refunds go instead of the ledger; null: the ledger. */
  readonly settlementUrl: string | null;
}

/** What stands in the way of running, by variable; values are never repeated. */
export interface ConfigIssue {
  readonly path: string;
  readonly message: string;
}

export type ConfigResult =
  | { readonly ok: true; readonly config: Config }
  | { readonly ok: false; readonly issues: readonly ConfigIssue[] };

const PAUSE_LOOK_MS = 60_000;
const PAUSE_JITTER_MS = 15_000;

const WHSEC_MESSAGE = "must be whsec_ and the base64 of 24 to 64 bytes, space-separated";

const VarsSchema = z.object({
  CALLBACK_SCHEDULE_S: text("0,180,600").transform((value, ctx) => {
    const waits = value.split(",").map((part) => (/^\s*\d+\s*$/.test(part) ? Number(part) : NaN));
    if (waits.length > 10 || !waits.every((wait) => wait <= 86_400)) {
      ctx.addIssue("must be 1 to 10 whole seconds from 0 to 86400, comma-separated");
    }
    return waits.map((wait) => wait * SECOND_MS);
  }),
  CALLBACK_TIMEOUT_S: number("10", 1, 25).transform((s) => Math.round(s * SECOND_MS)),
  RETENTION_DAYS: number("28", 0, 365).transform((days) => Math.max(1, Math.round(days * DAY_MS))),
  TASK_DEADLINE_HOURS: number("72", 0, 8760).transform((hours) =>
    Math.max(1, Math.round(hours * HOUR_MS)),
  ),
  // Two bodies and the attempts share one stored value of at most 2 MB.
  MAX_BODY_KB: number("256", 1, 400).transform((kb) => kb * 1024),
  ALLOW_LOCAL_CALLBACKS: flag(),
  PAUSED: flag(),
  PUBLIC_URL: httpUrl()
    .refine((url) => url === null || url.href === `${url.origin}/`, "must not have a path")
    .transform((url) => url?.origin ?? null),
  SETTLEMENT_URL: httpUrl().transform((url) => url?.href ?? null),
  OPERATOR_CALLBACK_URL: httpUrl().transform((url) => url?.href ?? null),
  INDEX_DB: z.unknown().optional(),
  SANDBOX: flag(),
  ERROR_TEXT: text("upstream").refine(
    (value) => value === "upstream" || value === "generic",
    "must be upstream or generic",
  ),
  RELAY_SECRET: list("must be one or more of at least 32 random bytes, space-separated", (secret) =>
    longEnough(secret, 32),
  ).refine((secrets) => secrets.length > 0, "is required"),
  OPERATOR_KEYS: list(
    "must be one or more keys of at least 16 characters, space-separated",
    (key) => longEnough(key, 16),
  ).refine((keys) => keys.length > 0, "is required"),
  SIGNING_SECRETS: list(WHSEC_MESSAGE, isHmacSecret).transform(nullIfEmpty),
  EVENTS_SECRETS: list(WHSEC_MESSAGE, isHmacSecret).transform(nullIfEmpty),
  SIGNING_KEYS: text("").transform((value, ctx) => {
    if (value === "") return null;
    const keys = value
      .split(/(?<=\})\s+(?=\{)/)
      .map((key) => Ed25519JwkSchema.safeParse(parseJson(key)));
    const parsed = keys.flatMap((key) => (key.success ? [key.data] : []));
    if (parsed.length === keys.length) return parsed;
    ctx.addIssue("must be Ed25519 private keys as JWK, space-separated");
    return z.NEVER;
  }),
});

/**
 * Parses what the platform binds. Every default and unit of the relay stands in this file.
 * @param flags `Cloudflare.compatibilityFlags` of the running isolate.
 */
export function parseConfig(vars: object, flags: Readonly<Record<string, boolean>>): ConfigResult {
  const parsed = VarsSchema.safeParse(vars);
  if (!parsed.success) {
    const issues = parsed.error.issues.map(({ path, message }) => ({
      path: path.join("."),
      message,
    }));
    return { ok: false, issues };
  }
  const { data } = parsed;
  const connected = parseConnections(vars, data.ALLOW_LOCAL_CALLBACKS, data.SANDBOX);
  if (!connected.ok) return connected;
  if (!data.ALLOW_LOCAL_CALLBACKS && flags["global_fetch_strictly_public"] !== true) {
    const message = "must contain global_fetch_strictly_public";
    return { ok: false, issues: [{ path: "compatibility_flags", message }] };
  }
  const config: Config = {
    scheduleMs: data.CALLBACK_SCHEDULE_S,
    callbackTimeoutMs: data.CALLBACK_TIMEOUT_S,
    retentionMs: data.RETENTION_DAYS,
    taskDeadlineMs: data.TASK_DEADLINE_HOURS,
    maxBodyBytes: data.MAX_BODY_KB,
    allowLocalCallbacks: data.ALLOW_LOCAL_CALLBACKS,
    paused: data.PAUSED,
    publicUrl: data.PUBLIC_URL,
    relaySecrets: data.RELAY_SECRET,
    operatorKeys: data.OPERATOR_KEYS,
    signingSecrets: data.SIGNING_SECRETS,
    eventsSecrets: data.EVENTS_SECRETS,
    signingKeys: data.SIGNING_KEYS,
    settlementUrl: data.SETTLEMENT_URL,
    connections: connected.connections,
    polls: connected.polls,
    isErrorTextGeneric: data.ERROR_TEXT === "generic",
    operatorCallbackUrl: data.OPERATOR_CALLBACK_URL,
    isIndexed: data.INDEX_DB !== undefined,
  };
  return { ok: true, config };
}

/** The part of the configuration that the core decides by. A pause is looked at again every minute or so. */
export function policyOf(config: Config, now: number, jitter: number): Policy {
  return {
    scheduleMs: config.scheduleMs,
    taskDeadlineMs: config.taskDeadlineMs,
    retentionMs: config.retentionMs,
    pausedUntil: config.paused ? now + PAUSE_LOOK_MS + Math.round(jitter * PAUSE_JITTER_MS) : 0,
    polls: config.polls,
    jitter,
    isIndexed: config.isIndexed,
    isOperatorTold: config.operatorCallbackUrl !== null,
  };
}

/** How much of an upstream's own text the client of a task reads. */
export function errorTextOf(config: Config, { key, webhookSecret }: Connection): ErrorText {
  // Each half of a key of two parts is a secret too.
  const known = [key, ...(key ?? "").split(":"), webhookSecret];
  const secrets = known.flatMap((secret) => (secret !== null && secret.length >= 8 ? secret : []));
  return { isGeneric: config.isErrorTextGeneric, secrets };
}

/** What a `callback_url` is judged by. @param origin the relay's own, as its caller addressed it. */
export function urlPolicyOf(config: Config, origin: string): UrlPolicy {
  const ownOrigins = config.publicUrl === null ? [origin] : [origin, config.publicUrl];
  return { allowLocal: config.allowLocalCallbacks, ownOrigins };
}

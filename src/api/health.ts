import type { Config } from "../config/config.ts";
import { toSeconds } from "../core/time.ts";
import type { Env } from "../env.ts";
import { connectionObject } from "../account/object-names.ts";
import { runtimeOf } from "../config/runtime.ts";
import { json } from "./http/answer.ts";
import { isOperator } from "./http/auth.ts";
import { callObject } from "./http/object-call.ts";
import { publicRoute } from "./http/route.ts";

const NO_STORE = { "Cache-Control": "no-store" };
/** Longer than two polls of a task can be apart, so that a refused key shows as long as it is in use. */
const REFUSAL_SHOWN_MS = 900_000;

export const readHealth = publicRoute(
  {
    method: "GET",
    path: "/healthz",
    summary: "Whether the relay is configured; the operator sees with what",
    answers: { 200: "it is", 503: "it is not: issues name the variables" },
    errors: [],
  },
  async ({ env, request }) => {
    const result = await runtimeOf(env);
    if (!result.ok) {
      const headers = { ...NO_STORE, "Retry-After": "60" };
      return json({ status: "not_configured", issues: result.error }, 503, headers);
    }
    const runtime = result.value;
    const isPrivileged = await isOperator(request.headers, runtime);
    if (!isPrivileged) return json({ status: "ok" }, 200, NO_STORE);
    const { config } = runtime;
    const connections = await connectionsOf(config, env);
    return json({ status: "ok", configuration: settingsOf(config), connections }, 200, NO_STORE);
  },
);

/** The ways to upstreams that have a key, and whether the provider refuses it these days. */
async function connectionsOf({ connections }: Config, env: Env) {
  const withKey = [...connections.values()].filter(({ key }) => key);
  const fares = withKey.map(async ({ name, provider }) => {
    const refusedAt = await callObject(() => connectionObject(env.ACCOUNTS, name).keyRefusedAt());
    const isRefused = refusedAt !== null && Date.now() - refusedAt < REFUSAL_SHOWN_MS;
    const state = isRefused ? { key: "refused", refused_at: toSeconds(refusedAt) } : { key: "set" };
    return [name, { provider: provider.name, ...state }] as const;
  });
  return Object.fromEntries(await Promise.all(fares));
}

/** The configuration in the units of its variables, secrets counted instead of shown. */
function settingsOf(config: Config) {
  return {
    CALLBACK_SCHEDULE_S: config.scheduleMs.map((ms) => ms / 1000).join(","),
    CALLBACK_TIMEOUT_S: config.callbackTimeoutMs / 1000,
    RETENTION_DAYS: config.retentionMs / 86_400_000,
    TASK_DEADLINE_HOURS: config.taskDeadlineMs / 3_600_000,
    MAX_BODY_KB: config.maxBodyBytes / 1024,
    ALLOW_LOCAL_CALLBACKS: config.allowLocalCallbacks,
    PAUSED: config.paused,
    ERROR_TEXT: config.isErrorTextGeneric ? "generic" : "upstream",
    OPERATOR_CALLBACK_URL:
      config.operatorCallbackUrl === null ? null : new URL(config.operatorCallbackUrl).origin,
    INDEX_DB: config.isIndexed,
    SANDBOX: config.isSandboxOn,
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

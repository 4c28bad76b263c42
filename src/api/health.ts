import type { Config } from "../config.ts";
import { relayOf } from "../relay.ts";
import { json } from "./answer.ts";
import { isOperator } from "./auth.ts";
import { openRoute } from "./route.ts";

const NO_STORE = { "Cache-Control": "no-store" };

export const readHealth = openRoute(
  {
    method: "GET",
    path: "/healthz",
    summary: "Whether the relay is configured; the operator sees with what",
    answers: { 200: "it is", 503: "it is not: issues name the variables" },
    errors: [],
  },
  async ({ env, request }) => {
    const result = await relayOf(env);
    if (!result.ok) {
      const headers = { ...NO_STORE, "Retry-After": "60" };
      return json({ status: "not_configured", issues: result.issues }, 503, headers);
    }
    const { relay } = result;
    const isPrivileged = await isOperator(request.headers, relay);
    const details = isPrivileged ? { configuration: settingsOf(relay.config) } : {};
    return json({ status: "ok", ...details }, 200, NO_STORE);
  },
);

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

import * as z from "zod";
import { parseJson } from "../core/json.ts";
import { MAX_CALLBACK_TIMEOUT_MS, MAX_RETENTION_MS } from "../core/policy.ts";
import { DAY_MS, HOUR_MS, SECOND_MS } from "../core/time.ts";
import { isHmacSecret } from "../security/hmac.ts";
import { Ed25519JwkSchema } from "../security/keyring.ts";
import { JURISDICTIONS, LOCATION_HINTS } from "./placement.ts";
import { flag, hasBytes, httpUrl, list, nullIfEmpty } from "./readers.ts";
import { numberBetween, oneOf, optional, positiveNumber, text } from "./readers.ts";

const WHSEC_MESSAGE = "must be whsec_ and the base64 of 24 to 64 bytes, space-separated";

/**
 * Every variable of the relay with its default and its unit, parsed to milliseconds and bytes. The
 * variables of the providers are named in `src/providers`, `CONNECTIONS` is read by `connections.ts`, the
 * bindings are in `src/env.ts`. Times and limits that no variable changes stand where they are used.
 */
export const Variables = z.object({
  CALLBACK_SCHEDULE_S: text("0,180,600").transform((value, ctx) => {
    const waits = value.split(",").map((part) => (/^\s*\d+\s*$/.test(part) ? Number(part) : NaN));
    if (waits.length > 10 || !waits.every((wait) => wait <= 86_400)) {
      ctx.addIssue("must be 1 to 10 whole seconds from 0 to 86400, comma-separated");
    }
    return waits.map((wait) => wait * SECOND_MS);
  }),
  CALLBACK_TIMEOUT_S: numberBetween("10", 1, MAX_CALLBACK_TIMEOUT_MS / SECOND_MS).transform((s) =>
    Math.round(s * SECOND_MS),
  ),
  RETENTION_DAYS: positiveNumber("28", MAX_RETENTION_MS / DAY_MS).transform((days) =>
    wholeMs(days * DAY_MS),
  ),
  TASK_DEADLINE_HOURS: positiveNumber("72", 8760).transform((hours) => wholeMs(hours * HOUR_MS)),
  // Two bodies and the attempts share one stored value of at most 2 MB.
  MAX_BODY_KB: numberBetween("256", 1, 400).transform((kb) => kb * 1024),
  ALLOW_LOCAL_CALLBACKS: flag(),
  ALLOW_IP_CALLBACKS: flag(),
  // Holds back polls and callback attempts (`startAt` in core/policy.ts).
  PAUSED: flag(),
  LOG: text("normal").refine(
    (value) => value === "normal" || value === "all",
    "must be normal or all",
  ),
  JURISDICTION: oneOf(JURISDICTIONS),
  LOCATION_HINT: oneOf(LOCATION_HINTS),
  PUBLIC_URL: httpUrl()
    .refine((url) => url === null || url.href === `${url.origin}/`, "must not have a path")
    .transform((url) => url?.origin ?? null),
  SETTLEMENT_URL: httpUrl().transform((url) => url?.href ?? null),
  OPERATOR_CALLBACK_URL: httpUrl().transform((url) => url?.href ?? null),
  INDEX_DB: z.unknown().optional(),
  INDEX_RETENTION_DAYS: optional(positiveNumber("", 365)).transform((days) =>
    days === null ? null : wholeMs(days * DAY_MS),
  ),
  INDEX_SHARD_HOURS: optional(numberBetween("", 1, 8760))
    .refine((hours) => hours === null || Number.isInteger(hours), "must be whole hours")
    .transform((hours) => (hours === null ? null : hours * HOUR_MS)),
  SANDBOX: flag(),
  ERROR_TEXT: text("upstream").refine(
    (value) => value === "upstream" || value === "generic",
    "must be upstream or generic",
  ),
  RELAY_SECRET: list("must be one or more of at least 32 random bytes, space-separated", (secret) =>
    hasBytes(secret, 32),
  ).refine((secrets) => secrets.length > 0, "is required"),
  OPERATOR_KEYS: list(
    "must be one or more keys of at least 16 characters, space-separated",
    (key) => hasBytes(key, 16),
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

export type ParsedVariables = z.output<typeof Variables>;

function wholeMs(ms: number): number {
  return Math.max(1, Math.round(ms));
}

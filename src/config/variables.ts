import * as z from "zod/mini";
import { parseJson } from "../core/json.ts";
import { MAX_CALLBACK_TIMEOUT_MS, MAX_RETENTION_MS } from "../core/policy.ts";
import { failure, type Result, success } from "../core/result.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from "../core/time.ts";
import { isHmacSecret } from "../security/hmac.ts";
import { Ed25519JwkSchema } from "../security/keyring.ts";
import { OPERATOR_ROLES } from "../security/roles.ts";
import { parseOperatorKeys } from "./operator-keys.ts";
import { parseOperatorEvents } from "./operator-events.ts";
import { JURISDICTIONS, LOCATION_HINTS } from "./placement.ts";
import { convert, flag, hasBytes, httpUrl, list, nullIfEmpty } from "./readers.ts";
import { oneOf, optional, parse, parseOptional, text, wholeNumber } from "./readers.ts";

const WHSEC_MESSAGE = "must be whsec_ and the base64 of 24 to 64 bytes, space-separated";

const HOSTS_MESSAGE =
  "must be host names with an optional port, space-separated, without https://, path and wildcard";

/**
 * Every variable of the relay with its default and its unit, parsed to milliseconds and bytes. The
 * variables of the providers are named in `src/providers`, `CONNECTIONS` is read by `connections.ts`, the
 * bindings are in `src/env.ts`. Times and limits that no variable changes stand where they are used.
 */
export const Variables = z.object({
  CALLBACK_SCHEDULE_S: parse(text("0,180,600"), scheduleOf),
  CALLBACK_TIMEOUT_S: wholeNumber("10", 1, MAX_CALLBACK_TIMEOUT_MS / SECOND_MS, SECOND_MS),
  RETENTION_DAYS: wholeNumber("28", 1, MAX_RETENTION_MS / DAY_MS, DAY_MS),
  TASK_DEADLINE_HOURS: wholeNumber("72", 1, 8760, HOUR_MS),
  // A body may grow when it is stored; core/record/stored-size.ts limits the record.
  MAX_BODY_KB: wholeNumber("256", 1, 400, 1024),
  ALLOW_LOCAL_CALLBACKS: flag(),
  ALLOW_IP_CALLBACKS: flag(),
  EXTRA_BASE_HOSTS: convert(list(HOSTS_MESSAGE, isHost), (hosts) =>
    hosts.map((host) => new URL(`https://${host}`).host),
  ),
  // Holds back polls and callback attempts (`startAt` in core/policy.ts).
  PAUSED: flag(),
  LOG: text("normal").check(
    z.refine((value) => value === "normal" || value === "all", "must be normal or all"),
  ),
  JURISDICTION: oneOf(JURISDICTIONS),
  LOCATION_HINT: oneOf(LOCATION_HINTS),
  PUBLIC_URL: convert(
    httpUrl().check(
      z.refine((url) => url === null || url.href === `${url.origin}/`, "must not have a path"),
    ),
    (url) => url?.origin ?? null,
  ),
  SETTLEMENT_URL: convert(httpUrl(), (url) => url?.href ?? null),
  OPERATOR_CALLBACK_URL: convert(httpUrl(), (url) => url?.href ?? null),
  OPERATOR_EVENTS: parse(text(""), parseOperatorEvents),
  OPERATOR_CALLBACK_FORMAT: text("standard").check(
    z.refine((value) => value === "standard" || value === "slack", "must be standard or slack"),
  ),
  OPERATOR_DIGEST_MINUTES: optional(wholeNumber("", 1, 1440, MINUTE_MS)),
  SILENCE_MINUTES: optional(wholeNumber("", 1, 10_080, MINUTE_MS)),
  INDEX_DB: z.optional(z.unknown()),
  INDEX_RETENTION_DAYS: optional(wholeNumber("", 1, 365, DAY_MS)),
  INDEX_SHARD_HOURS: optional(wholeNumber("", 1, 8760, HOUR_MS)),
  SANDBOX: flag(),
  LISTEN: flag(),
  ERROR_TEXT: text("upstream").check(
    z.refine((value) => value === "upstream" || value === "generic", "must be upstream or generic"),
  ),
  RELAY_SECRET: list("must be one or more of at least 32 random bytes, space-separated", (secret) =>
    hasBytes(secret, 32),
  ).check(z.refine((secrets) => secrets.length > 0, "is required")),
  OPERATOR_KEYS: parse(text(""), parseOperatorKeys),
  SIGNING_SECRETS: convert(list(WHSEC_MESSAGE, isHmacSecret), nullIfEmpty),
  EVENTS_SECRETS: convert(list(WHSEC_MESSAGE, isHmacSecret), nullIfEmpty),
  SIGNING_KEYS: parseOptional(signingKeysOf),
  ACCESS_TEAM: parseOptional(accessOriginOf),
  ACCESS_AUD: parseOptional((value) =>
    /^[\w-]{1,128}$/.test(value) ? success(value) : failure("must be one AUD tag"),
  ),
  ACCESS_ROLE: convert(oneOf(OPERATOR_ROLES), (role) => role ?? "read"),
});

export type ParsedVariables = z.output<typeof Variables>;

function isHost(item: string): boolean {
  return /^[\w.-]+(?::\d+)?$/.test(item) && URL.canParse(`https://${item}`);
}

function scheduleOf(value: string): Result<readonly number[], string> {
  const waits = value.split(",").map((part) => (/^\s*\d+\s*$/.test(part) ? Number(part) : NaN));
  if (waits.length <= 10 && waits.every((wait) => wait <= 86_400)) {
    return success(waits.map((wait) => wait * SECOND_MS));
  }
  return failure("must be 1 to 10 whole seconds from 0 to 86400, comma-separated");
}

function accessOriginOf(value: string): Result<string, string> {
  const [, name] =
    /^(?:https:\/\/)?([a-z\d-]{1,63})(?:\.cloudflareaccess\.com\/?)?$/.exec(value) ?? [];
  if (name === undefined) return failure("must be the name of a team: <name>.cloudflareaccess.com");
  return success(`https://${name}.cloudflareaccess.com`);
}

function signingKeysOf(value: string): Result<readonly z.infer<typeof Ed25519JwkSchema>[], string> {
  const keys = value
    .split(/(?<=\})\s+(?=\{)/)
    .map((key) => Ed25519JwkSchema.safeParse(parseJson(key)));
  const parsed = keys.flatMap((key) => (key.success ? [key.data] : []));
  if (parsed.length === keys.length) return success(parsed);
  return failure("must be Ed25519 private keys as JWK, space-separated");
}

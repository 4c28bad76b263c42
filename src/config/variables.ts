import * as z from "zod/mini";
import { parseJson } from "../core/json.ts";
import { MAX_CALLBACK_TIMEOUT_MS, MAX_RETENTION_MS } from "../core/policy.ts";
import { failure, type Result, success } from "../core/result.ts";
import { DAY_MS, SECOND_MS } from "../core/time.ts";
import { isHmacSecret } from "../security/hmac.ts";
import { Ed25519JwkSchema } from "../security/keyring.ts";
import { OPERATOR_ROLES } from "../security/roles.ts";
import { parseBrandColor, parseBrandLogo, parseBrandName } from "./operator-brand.ts";
import { HELD_BODIES_MB } from "./held-bodies.ts";
import { parseOffers } from "./offers.ts";
import { parseOperatorKeys } from "./operator-keys.ts";
import { parseOperatorEvents } from "./operator-events.ts";
import { JURISDICTIONS, LOCATION_HINTS } from "./placement.ts";
import { parseRateLimits } from "./rate-limits.ts";
import { convert, flag, hasBytes, httpUrl, list, listOfSeconds } from "./readers.ts";
import { oneOf, optionalNumber, optionalOneOf, parse, parseOptional } from "./readers.ts";
import { readerOf, wholeNumber } from "./readers.ts";

const WHSEC_MESSAGE = "must be whsec_ and the base64 of 24 to 64 bytes, space-separated";

const BUCKET_MESSAGE =
  "must be the name of a bucket: 3 to 63 small letters, digits, dots and hyphens";

const HOSTS_MESSAGE =
  "must be host names with an optional port, space-separated, without https://, path and wildcard";

/**
 * Number of days for which the index stores a settled task when `INDEX_RETENTION_DAYS` is not set. If `RETENTION_DAYS`
 * is smaller, its value is used instead.
 */
export const DEFAULT_INDEX_RETENTION_DAYS = 7;

/**
 * Number of days for which the links to outputs work when `OUTPUT_DAYS` is not set. If `RETENTION_DAYS` is smaller, its
 * value is used instead.
 */
export const DEFAULT_OUTPUT_DAYS = 3;

/**
 * Every variable of the relay with its default. A number is read in the unit that the variable's name states. The
 * variables of the providers (`src/providers`), `CONNECTIONS` (`connections.ts`) and the bindings (`src/env.ts`) are
 * elsewhere. `scripts/docs/variables.ts` says what each variable changes. Times and limits that no variable changes are
 * constants in the files that use them.
 */
export const Variables = z.object({
  CALLBACK_SCHEDULE_S: listOfSeconds("0,180,600", { max: 86_400, maxCount: 10 }),
  CALLBACK_TIMEOUT_S: wholeNumber("10", {
    min: 1,
    max: MAX_CALLBACK_TIMEOUT_MS / SECOND_MS,
    unit: "s",
  }),
  RETENTION_DAYS: wholeNumber("28", { min: 1, max: MAX_RETENTION_MS / DAY_MS, unit: "days" }),
  TASK_DEADLINE_HOURS: wholeNumber("72", { min: 1, max: 8760, unit: "hours" }),
  // The record of a task can be larger than the body of its request; core/plans/stored-size.ts limits it.
  MAX_BODY_KB: wholeNumber("256", { min: 1, max: 400, unit: "KB" }),
  MAX_SUBMIT_MB: wholeNumber("16", { min: 1, max: HELD_BODIES_MB.all, unit: "MB" }),
  SUBMIT_TIMEOUT_S: wholeNumber("90", { min: 5, max: 600, unit: "s" }),
  // An alarm may run for 15 minutes, in which the answer is also stored and reported.
  ASYNC_TIMEOUT_S: wholeNumber("600", { min: 10, max: 720, unit: "s" }),
  // Cloudflare limits the body of a request that an object sends, to a number that we have not found (docs/scale.md). With
  // workerd, 64 MB arrive.
  MAX_ASYNC_MB: wholeNumber("32", { min: 1, max: 64, unit: "MB" }),
  QUEUE_MINUTES: wholeNumber("60", { min: 1, max: 10_080, unit: "minutes" }),
  SUBMIT_UNKNOWN_MINUTES: wholeNumber("60", { min: 1, max: 1440, unit: "minutes" }),
  OUTPUTS: z.optional(z.unknown()),
  OUTPUTS_S3: z.optional(z.unknown()),
  OUTPUTS_S3_URL: parseOptional(originOf),
  OUTPUTS_S3_REGION: parse("us-east-1", matching(/^[\w-]{1,64}$/, "must be the name of a region")),
  OUTPUTS_S3_BUCKET: parseOptional(matching(/^[a-z\d][a-z\d.-]{1,61}[a-z\d]$/, BUCKET_MESSAGE)),
  OUTPUTS_S3_KEY: parseOptional(matching(/^[!-~]{1,256}$/, "must be one id of an access key")),
  OUTPUTS_S3_SECRET: parseOptional(matching(/^[!-~]{1,256}$/, "must be one secret access key")),
  OUTPUTS_URL: parseOptional(originOf),
  OUTPUT_DAYS: optionalNumber(
    { min: 1, max: MAX_RETENTION_MS / DAY_MS, unit: "days" },
    `${DEFAULT_OUTPUT_DAYS}`,
  ),
  MAX_OUTPUT_MB: wholeNumber("1024", { min: 1, max: 4096, unit: "MB" }),
  OFFERS: readerOf(parseOffers),
  ALLOW_LOCAL_CALLBACKS: flag(),
  ALLOW_IP_CALLBACKS: flag(),
  EXTRA_BASE_HOSTS: parse(
    "",
    convert(list(HOSTS_MESSAGE, isHost), (hosts) =>
      hosts.map((host) => new URL(`https://${host}`).host),
    ),
  ),
  POLL_LATENESS: wholeNumber("7", { min: 3, max: 50, unit: "percent" }),
  // Makes polls and callback attempts wait (`startAt` in core/policy.ts).
  PAUSED: flag(),
  LOG: oneOf("normal", ["normal", "all"]),
  PLAN: oneOf("paid", ["paid", "free"]),
  RATE_LIMITS: parse("off", parseRateLimits),
  JURISDICTION: optionalOneOf(JURISDICTIONS),
  LOCATION_HINT: optionalOneOf(LOCATION_HINTS),
  PUBLIC_URL: parseOptional(originOf),
  SETTLEMENT_URL: parseOptional(convert(httpUrl, ({ href }) => href)),
  OPERATOR_CALLBACK_URL: parseOptional(convert(httpUrl, ({ href }) => href)),
  OPERATOR_EVENTS: parse("", parseOperatorEvents),
  OPERATOR_CALLBACK_FORMAT: oneOf("standard", ["standard", "slack"]),
  OPERATOR_DIGEST_MINUTES: optionalNumber({ min: 1, max: 1440, unit: "minutes" }),
  SILENCE_MINUTES: optionalNumber({ min: 1, max: 10_080, unit: "minutes" }),
  BRAND_NAME: parseOptional(parseBrandName),
  BRAND_LOGO: parseOptional(parseBrandLogo),
  BRAND_COLOR: parseOptional(parseBrandColor),
  INDEX_DB: z.optional(z.unknown()),
  INDEX_OBJECT: z.optional(z.unknown()),
  INDEX_RETENTION_DAYS: optionalNumber(
    { min: 1, max: 365, unit: "days" },
    `${DEFAULT_INDEX_RETENTION_DAYS}`,
  ),
  // At most 300 s: the deletion of an account finds open tasks older than ten minutes by their rows alone.
  INDEX_DELAY_S: wholeNumber("30", { min: 1, max: 300, unit: "s" }),
  INDEX_SHARD_HOURS: optionalNumber({ min: 1, max: 8760, unit: "hours" }),
  SANDBOX: flag(),
  LISTEN: flag(),
  ERROR_TEXT: oneOf("upstream", ["upstream", "generic"]),
  RELAY_SECRET: parse("", relaySecretsOf),
  OPERATOR_KEYS: parse("", parseOperatorKeys),
  SIGNING_SECRETS: parseOptional(list(WHSEC_MESSAGE, isHmacSecret)),
  EVENTS_SECRETS: parseOptional(list(WHSEC_MESSAGE, isHmacSecret)),
  SIGNING_KEYS: parseOptional(signingKeysOf),
  ACCESS_TEAM: parseOptional(accessOriginOf),
  ACCESS_AUD: parseOptional(matching(/^[\w-]{1,128}$/, "must be one AUD tag")),
  ACCESS_ROLE: oneOf("read", OPERATOR_ROLES),
});

export type ParsedVariables = z.output<typeof Variables>;

const listOfSecrets = list(
  "must be one or more of at least 32 random bytes, space-separated",
  (secret) => hasBytes(secret, 32),
);

function relaySecretsOf(value: string): Result<readonly string[], string> {
  return value === "" ? failure("is required") : listOfSecrets(value);
}

/** Parses a variable that contains the origin of the relay or of its links. */
function originOf(value: string): Result<string, string> {
  const url = httpUrl(value);
  if (!url.ok) return url;
  const { href, origin } = url.value;
  return href === `${origin}/` ? success(origin) : failure("must not have a path");
}

/** Returns a parser of a text that fits a pattern. */
function matching(pattern: RegExp, message: string) {
  return (value: string) => (pattern.test(value) ? success(value) : failure(message));
}

function isHost(item: string): boolean {
  return /^[\w.-]+(?::\d+)?$/.test(item) && URL.canParse(`https://${item}`);
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

import { type Config, parseConfig } from "../../src/config/config.ts";
import * as fc from "fast-check";
import { parseConnections } from "../../src/config/connections.ts";
import type { ConfigIssue } from "../../src/config/issue.ts";
import { OfferList } from "../../src/core/offers/offer-list.ts";
import type { Offer } from "../../src/core/offers/offer.ts";
import type { Price } from "../../src/core/record/price-rule.ts";
import { failure, type Result, success } from "../../src/core/result.ts";
import { checkCallbackUrl } from "../../src/security/url-rules.ts";
import { PROVIDERS } from "../../src/providers/registry.ts";
import type { Connection, UpstreamProvider } from "../../src/providers/provider.ts";
import { DECLARATIONS } from "../providers/declarations.ts";
import { fuzz, weighted } from "./fuzz.ts";
import { hostileValue } from "./hostile.ts";
import { jsonBytes, mutated } from "./mutations.ts";
import { changedText } from "./text.ts";

const FLAGS = {
  global_fetch_strictly_public: true,
  durable_object_io_tasks_prevent_eviction: true,
};
const PLANTED = "planted-secret-0123456789abcdef-0123456789abcdef";
const WHSEC = `whsec_${btoa(PLANTED)}`;
const JWK = JSON.stringify({ kty: "OKP", crv: "Ed25519", x: "x".repeat(43), d: "d".repeat(43) });
const REQUIRED = { RELAY_SECRET: PLANTED, OPERATOR_KEYS: `${PLANTED} ${PLANTED}-older` };
const VARIABLES = {
  CALLBACK_SCHEDULE_S: "0,180,600",
  CALLBACK_TIMEOUT_S: "10",
  RETENTION_DAYS: "28",
  TASK_DEADLINE_HOURS: 72,
  MAX_BODY_KB: "256",
  MAX_SUBMIT_MB: "16",
  SUBMIT_TIMEOUT_S: 90,
  ASYNC_TIMEOUT_S: 600,
  MAX_ASYNC_MB: "32",
  SUBMIT_UNKNOWN_MINUTES: "60",
  OFFERS: JSON.stringify([
    { connection: "ark", path: "/v1/jobs", models: [PLANTED], price: { credits: 60 } },
    { connection: "fal", models: ["*"], limits: { "/a/b": { min: 1, max: 2, optional: true } } },
    { connection: "replicate", models: ["a*b"], limits: { "?a": { values: [PLANTED, 1] } } },
  ]),
  ALLOW_LOCAL_CALLBACKS: "false",
  EXTRA_BASE_HOSTS: "proxy.example.com gateway.example.com:8443",
  PAUSED: false,
  LOG: "all",
  PUBLIC_URL: "https://relay.example.com",
  SETTLEMENT_URL: "https://billing.example.com/refunds?a=b",
  OPERATOR_CALLBACK_URL: "https://ops.example.com/events",
  OPERATOR_EVENTS: "callback.failed, index.full",
  OPERATOR_CALLBACK_FORMAT: "slack",
  SANDBOX: "true",
  ERROR_TEXT: "generic",
  SIGNING_SECRETS: `${WHSEC} ${WHSEC}`,
  EVENTS_SECRETS: WHSEC,
  SIGNING_KEYS: JWK,
  ARK_API_KEY: PLANTED,
  KLING_API_KEY: `${PLANTED}:${PLANTED}`,
  MINIMAX_BASE_URL: "https://api.minimaxi.com",
  REPLICATE_WEBHOOK_SECRET: WHSEC,
  FAL_USER_ID: "user-1",
  NEWAPI_API_KEY: PLANTED,
  NEWAPI_BASE_URL: "https://gateway.example.com",
};
const PUBLIC = { allowLocal: false, allowIp: false, ownOrigin: "", extraHosts: [] };
const NAMES = Object.keys({ ...REQUIRED, ...VARIABLES });
const CONNECTIONS = {
  ...DECLARATIONS,
  "ark-intl": {
    provider: "ark",
    key: PLANTED,
    base_url: "https://ark.ap-southeast.bytepluses.com",
  },
  "vidu-cn": { provider: "vidu", key: PLANTED, base_url: "https://api.vidu.cn/ent/v2/" },
  "dashscope-2": {
    provider: "dashscope",
    base_url: "https://llm-1.ap-southeast-1.maas.aliyuncs.com",
  },
  "replicate-2": { provider: "replicate", webhook_secret: WHSEC, user_id: null },
  "gateway-2": { provider: "newapi", key: PLANTED, base_url: "https://gateway.example.com/api" },
  "fal-2": { provider: "fal", jwks_url: "https://rest.fal.ai/.well-known/jwks.json" },
};

const variable = fc.oneof(
  ...NAMES.map((name) => {
    const valid: unknown = Reflect.get({ ...REQUIRED, ...VARIABLES }, name);
    const value = weighted([3, hostileValue], [7, changedText(String(valid), 2)]);
    return fc.tuple(fc.constant(name), value);
  }),
);
/** Generator of the required variables, one to three of which are damaged. */
const environment = fc
  .array(variable, { minLength: 1, maxLength: 3 })
  .map((damaged): object => ({ ...REQUIRED, ...Object.fromEntries(damaged) }));

const oneConnection = mutated(
  Object.entries(CONNECTIONS).map((entry) => Object.fromEntries([entry])),
  2,
);
const connections = fc
  .oneof(
    oneConnection,
    jsonBytes(oneConnection).map((bytes) => new TextDecoder().decode(bytes)),
  )
  .map((value) => ({ ...REQUIRED, CONNECTIONS: value }));

function requireNamed(issues: readonly ConfigIssue[]): void {
  if (issues.length === 0) throw new Error("the refusal names no variable");
  for (const { path, message } of issues) {
    if (!/^[A-Z][A-Z_]+$/.test(path)) throw new Error(`the refusal names ${path}`);
    if (message === "" || message.includes("planted"))
      throw new Error(`the refusal says ${message}`);
  }
}

const isWhole = (min: number, max: number, value: number) =>
  Number.isSafeInteger(value) && value >= min && value <= max;
const isSecret = (text: string) => {
  const { length } = atob(text.replace(/^whsec_/, ""));
  return text.startsWith("whsec_") && length >= 24 && length <= 64;
};

/** Requires that a relay can run with the configuration. @throws when it cannot. */
function requireSound(config: Config): void {
  const { scheduleMs, publicUrl, settlementUrl, operatorCallbackUrl } = config;
  const secrets = [...(config.signingSecrets ?? []), ...(config.eventsSecrets ?? [])];
  const urls = [settlementUrl, operatorCallbackUrl].filter((url) => url !== null);
  const tests: Readonly<Record<string, boolean>> = {
    CALLBACK_SCHEDULE_S:
      isWhole(1, 10, scheduleMs.length) &&
      scheduleMs.every((ms) => isWhole(0, 86_400_000, ms) && ms % 1000 === 0),
    CALLBACK_TIMEOUT_S: isWhole(1000, 24_000, config.callbackTimeoutMs),
    RETENTION_DAYS: isWhole(1, 365 * 86_400_000, config.retentionMs),
    TASK_DEADLINE_HOURS: isWhole(1, 8760 * 3_600_000, config.taskDeadlineMs),
    MAX_BODY_KB: config.maxBodyBytes >= 1024 && config.maxBodyBytes <= 400 * 1024,
    MAX_SUBMIT_MB: isWhole(1024 ** 2, 24 * 1024 ** 2, config.maxSubmitBytes),
    SUBMIT_TIMEOUT_S: isWhole(5_000, 600_000, config.submitTimeoutMs),
    ASYNC_TIMEOUT_S: isWhole(10_000, 720_000, config.asyncTimeoutMs),
    MAX_ASYNC_MB: isWhole(1024 ** 2, 64 * 1024 ** 2, config.maxAsyncBytes),
    SUBMIT_UNKNOWN_MINUTES: isWhole(60_000, 1440 * 60_000, config.submitUnknownMs),
    OFFERS: (config.offers?.all ?? []).every((offer) => isSoundOffer(offer, config)),
    PUBLIC_URL: publicUrl === null || new URL(publicUrl).origin === publicUrl,
    SETTLEMENT_URL: urls.every((url) => /^https?:/.test(new URL(url).protocol)),
    RELAY_SECRET:
      config.relaySecrets.length > 0 && config.relaySecrets.every((one) => utf8(one) >= 32),
    OPERATOR_KEYS:
      config.operatorKeys.length > 0 &&
      config.operatorKeys.every(({ secret }) => utf8(secret) >= 16),
    SIGNING_SECRETS: secrets.every(isSecret),
    PROVIDERS: [...PROVIDERS.values()].every(
      ({ name, baseUrls }) => baseUrls === null || config.connections.has(name),
    ),
  };
  const wrong = Object.keys(tests).find((name) => tests[name] !== true);
  if (wrong !== undefined) throw new Error(`an invalid ${wrong} was accepted`);
  for (const connection of config.connections.values()) requireSoundConnection(connection);
}

/** Tells whether a request can be compared with an offer. */
function isSoundOffer({ connection, models, limits, price }: Offer, config: Config) {
  const isSound = limits.every(({ pointer, values, min, max }) => {
    const isBounded = min !== null || max !== null;
    const isOrdered = min === null || max === null || min <= max;
    const hasRule = values === null ? isBounded && isOrdered : values.length > 0 && !isBounded;
    return hasRule && /^[/?]./s.test(pointer);
  });
  const isPriced = price === null || isSoundPrice(price);
  return isSound && isPriced && models.length > 0 && config.connections.has(connection);
}

/** Tells whether a price can be charged, and what the task costs be computed. */
function isSoundPrice({ credits, rule }: Price): boolean {
  if (!isWhole(1, Number.MAX_SAFE_INTEGER, credits)) return false;
  if (rule === null) return true;
  const rates = typeof rule.rate === "number" ? [rule.rate] : Object.values(rule.rate);
  const arePositive = [rule.units, ...rates].every((value) => value > 0 && Number.isFinite(value));
  return arePositive && rates.length > 0 && rule.name !== "" && isWhole(0, credits, rule.min);
}

const encoder = new TextEncoder();
const utf8 = (text: string) => encoder.encode(text).length;

/** Tells whether a URL leads to a host of the provider or, where it has none, to a public host. */
function isHostOf({ name, baseUrls }: UpstreamProvider, { href, host }: URL): boolean {
  if (baseUrls === null) return checkCallbackUrl(href, PUBLIC).ok;
  if (baseUrls.some((base) => new URL(base).host === host)) return true;
  return name === "dashscope" && /^[\w-]+\.[\w-]+\.maas\.aliyuncs\.com$/.test(host);
}

/** Requires that credentials go only to the provider's own hosts, in a header, under the intended path. */
function requireSoundConnection({ name, provider, baseUrl, key }: Connection): void {
  if (provider.polls === null) return;
  const path = provider.polls.path({ id: "job-1", endpoint: "a/b" });
  const url = URL.parse(baseUrl + path);
  if (url === null) throw new Error(`${name} has no valid base URL: ${baseUrl}`);
  const isOwn = isHostOf(provider, url);
  const isUnder = `${url.pathname}${url.search}`.endsWith(path) && url.hash === "";
  if (!isOwn || url.protocol !== "https:") throw new Error(`${name} leads to ${url.href}`);
  if (!isUnder || url.username !== "") throw new Error(`${name} leads to ${url.href}`);
  const isKeyless = key === null || (provider.polls.takesNoKey === true && key === "");
  if (!isKeyless && !/^[\x21-\x7e]+$/.test(key))
    throw new Error(`${name} has a key that no header can carry`);
}

type Parser<A extends unknown[], T> = (...given: A) => Result<T, readonly ConfigIssue[]>;

/** Returns a parser whose refusals have other issues. */
function withIssues<A extends unknown[], T>(
  parse: Parser<A, T>,
  change: (issues: readonly ConfigIssue[]) => readonly ConfigIssue[],
): Parser<A, T> {
  return (...given) => {
    const result = parse(...given);
    return result.ok ? result : failure(change(result.error));
  };
}

function quoting(issues: readonly ConfigIssue[]): readonly ConfigIssue[] {
  return issues.map(({ path, message }) => ({ path, message: `${message}, not ${PLANTED}` }));
}

/** Returns a parser of connections that has the same base URL for all of them. */
function atBaseUrl(baseUrl: string): typeof parseConnections {
  return (...given) => {
    const result = parseConnections(...given);
    if (!result.ok) return result;
    const entries = [...result.value.connections];
    const moved = new Map(entries.map(([name, each]) => [name, { ...each, baseUrl }]));
    return success({ ...result.value, connections: moved });
  };
}

fuzz(
  "any configuration is accepted only if it is valid; a refusal names the invalid variable without its value",
  {
    inputs: environment,
    subject: parseConfig,
    defects: {
      "names no variable in a refusal": withIssues(parseConfig, () => []),
      "shows the value of a variable in a refusal": withIssues(parseConfig, quoting),
      "accepts a first attempt before its time": (vars, flags) => {
        const result = parseConfig(vars, flags);
        return result.ok ? success({ ...result.value, scheduleMs: [-1] }) : result;
      },
      "accepts an offer of a connection that does not exist": (vars, flags) => {
        const result = parseConfig(vars, flags);
        if (!result.ok) return result;
        const { all = [] } = result.value.offers ?? {};
        const offers = all.map((offer) => ({ ...offer, connection: "none" }));
        return success({ ...result.value, offers: new OfferList(offers) });
      },
      "accepts a configuration without operator keys": (vars, flags) => {
        const result = parseConfig(vars, flags);
        return result.ok ? success({ ...result.value, operatorKeys: [] }) : result;
      },
    },
    check: (vars, parse) => {
      const result = parse(vars, FLAGS);
      if (result.ok) requireSound(result.value);
      else requireNamed(result.error);
      return result.ok;
    },
  },
);

fuzz(
  "any value of CONNECTIONS is accepted only if each base_url has its provider's host, or any public host where the provider has none; a refusal names the variable",
  {
    inputs: connections,
    subject: parseConnections,
    defects: {
      "names no variable in a refusal": withIssues(parseConnections, () => []),
      "shows the value of a variable in a refusal": withIssues(parseConnections, quoting),
      "accepts any host": atBaseUrl("https://evil.example"),
      "accepts a URL without TLS": atBaseUrl("http://ark.ap-southeast.bytepluses.com"),
    },
    check: (vars, parse) => {
      const result = parse(vars, PUBLIC, false);
      if (result.ok) result.value.connections.forEach(requireSoundConnection);
      else requireNamed(result.error);
      return result.ok;
    },
  },
);

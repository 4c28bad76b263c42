import { generateKeyPairSync, randomBytes } from "node:crypto";
import { derived, publicHalf, spellingsOfBytes, spellingsOfText, whsec } from "./derived.ts";
import type { Exercise } from "./exercise.ts";

export interface Secret {
  readonly what: string;
  readonly spellings: readonly string[];
  /** Pattern of the routes whose answers contain the secret on purpose; null when there are none. */
  readonly givenBy: RegExp | null;
}

const random = () => randomBytes(32).toString("hex");
const randomWhsec = () => whsec(randomBytes(32));

export const RELAY_SECRETS = [random(), random()];
export const OPERATOR_KEYS = [random(), random()];
export const UPSTREAM_KEY = random();
/** Key of a customer at the upstream, with which it submits a job. */
export const CUSTOMER_KEY = random();
/** Value of a header of an endpoint, with which its receiver knows the relay. */
export const ENDPOINT_VALUE = random();
export const WEBHOOK_SECRET = randomWhsec();
const SIGNING = [randomWhsec(), randomWhsec()];
export const EVENTS = randomWhsec();
export const JWK = generateKeyPairSync("ed25519").privateKey.export({ format: "jwk" });
/** Texts that a receiver answers, and tokens in the query strings of URLs. */
export const RECEIVER_TEXT = random();
export const QUERY_TOKEN = random();
export const SETTLEMENT_TOKEN = random();
export const OPERATOR_URL_TOKEN = random();

const LABELS = [
  "callbacks",
  "events",
  "settlement",
  "operator",
  "hooks",
  "status",
  "cursors",
  "account-keys",
  "customer-keys",
  "endpoint-headers",
  "ed25519",
];
const GIVEN_LABELS = ["callbacks", "events", "settlement", "operator"];
export const FOR_OPERATORS = /^(?:operator|older) GET \/v1\/signing-secrets$/;
const FOR_ACCOUNTS =
  /^(?:operator|older|account) (?:GET|POST) \/v1\/accounts\/[^/]+\/signing-secrets$/;
const ACCOUNT_KEYS = /^operator POST \/v1\/accounts\/[^/]+\/keys$/;
const REGISTRATION = /^operator POST \/v1\/tasks$/;
const EXCERPTS = /^(?:operator|older) \w+ \/v1\/tasks|^sent \/operator/;
/** Routes and notices that show a `callback_url`. */
const TASKS =
  /^(?:operator|older|account|customer) \w+ \/v1\/(?:tasks|events|callbacks|submit)|^sent \/operator/;

export const CONFIGURED = { SIGNING_SECRETS: SIGNING.join(" "), EVENTS_SECRETS: EVENTS };

export function secretsOf(exercise: Exercise): readonly Secret[] {
  const { account, accountKey, importedHash, hookToken, statusToken } = exercise;
  const accountLabels = [0, 1, 2, 3].map((n) => `callbacks/${account}/${n}`);
  const fromRelaySecret = RELAY_SECRETS.flatMap((secret) =>
    [...LABELS, ...accountLabels].map((label) => ({
      what: `derived for ${label}`,
      spellings: spellingsOfBytes(derived(secret, label)),
      givenBy: givenBy(label),
    })),
  );
  return [
    ...RELAY_SECRETS.map((secret) => textual("RELAY_SECRET", secret)),
    ...OPERATOR_KEYS.map((key) => textual("OPERATOR_KEYS", key)),
    ...SIGNING.map((secret) => textual("SIGNING_SECRETS", secret, FOR_OPERATORS)),
    textual("EVENTS_SECRETS", EVENTS, FOR_OPERATORS),
    textual("SIGNING_KEYS", JWK.d ?? ""),
    textual("the upstream's key", UPSTREAM_KEY),
    textual("the upstream's signing secret", WEBHOOK_SECRET),
    textual("a customer's own key", CUSTOMER_KEY),
    textual("a header of an endpoint", ENDPOINT_VALUE, /^sent \/endpoint$/),
    textual("SETTLEMENT_URL", SETTLEMENT_TOKEN),
    textual("OPERATOR_CALLBACK_URL", OPERATOR_URL_TOKEN),
    textual("an account's key", accountKey.slice(-92), ACCOUNT_KEYS),
    { what: "the hash of a key", spellings: [importedHash], givenBy: null },
    { what: "a hook's token", spellings: [hookToken], givenBy: REGISTRATION },
    { what: "a status token", spellings: statusSpellings(statusToken), givenBy: REGISTRATION },
    textual("a callback_url's query", QUERY_TOKEN, TASKS),
    textual("a receiver's answer", RECEIVER_TEXT, EXCERPTS),
    ...fromRelaySecret,
  ];
}

/** Returns the token and its MAC. */
function statusSpellings(token: string): readonly string[] {
  return [token, token.slice(-43)];
}

export function finds({ spellings }: Secret, text: string): boolean {
  return spellings.some((spelling) => text.includes(spelling));
}

function textual(what: string, value: string, routes: RegExp | null = null): Secret {
  return { what, spellings: spellingsOfText(value), givenBy: routes };
}

function givenBy(label: string): RegExp | null {
  if (label.startsWith("callbacks/")) return FOR_ACCOUNTS;
  return GIVEN_LABELS.includes(label) ? FOR_OPERATORS : null;
}

const { x: _x, ...privateHalf } = JWK;
const connection = (fields: object) =>
  JSON.stringify({ rep: { provider: "replicate", ...fields } });
/** Variables with a value that the relay must refuse without repeating it. */
export const INVALID: readonly (readonly [string, string])[] = [
  ["RELAY_SECRET", RELAY_SECRETS[0]?.slice(0, 31) ?? ""],
  ["OPERATOR_KEYS", `${OPERATOR_KEYS[0]} short`],
  ["OPERATOR_KEYS", `${OPERATOR_KEYS[0]} admin:${OPERATOR_KEYS[1]}`],
  ["SIGNING_SECRETS", `${SIGNING[0]}!`],
  ["EVENTS_SECRETS", EVENTS.replace("whsec_", "")],
  ["SIGNING_KEYS", JSON.stringify(privateHalf)],
  ["SIGNING_KEYS", JSON.stringify({ ...JWK, x: publicHalf(randomBytes(32)) })],
  ["SIGNING_KEYS", `${JSON.stringify(JWK)},`],
  ["CONNECTIONS", `{"rep": {"key": "${UPSTREAM_KEY}"`],
  ["CONNECTIONS", connection({ key: `${UPSTREAM_KEY} é` })],
  ["CONNECTIONS", connection({ key: [UPSTREAM_KEY] })],
  ["CONNECTIONS", connection({ provider: UPSTREAM_KEY })],
  ["CONNECTIONS", connection({ secret: UPSTREAM_KEY })],
  ["CONNECTIONS", connection({ webhook_secret: `${WEBHOOK_SECRET}!` })],
  ["CONNECTIONS", connection({ base_url: `https://${UPSTREAM_KEY}@x.example` })],
  ["REPLICATE_API_TOKEN", `${UPSTREAM_KEY}\u{e9}`],
  ["SETTLEMENT_URL", `ftp://x.example/?t=${SETTLEMENT_TOKEN}`],
  ["OPERATOR_CALLBACK_URL", `not a URL ${OPERATOR_URL_TOKEN}`],
];

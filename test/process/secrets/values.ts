import { generateKeyPairSync, randomBytes } from "node:crypto";
import { derived, publicHalf, spellingsOfBytes, spellingsOfText, whsec } from "./derived.ts";
import type { Tour } from "./exercise.ts";

/** Something that only a few may see. */
export interface Secret {
  readonly what: string;
  readonly spellings: readonly string[];
  /** The answers that hold it on purpose, by their route; null: none does. */
  readonly givenBy: RegExp | null;
}

const random = () => randomBytes(32).toString("hex");

export const RELAY_SECRETS = [random(), random()];
export const OPERATOR_KEYS = [random(), random()];
export const UPSTREAM_KEY = random();
export const WEBHOOK_SECRET = whsec(randomBytes(32));
const SIGNING = [whsec(randomBytes(32)), whsec(randomBytes(32))];
export const EVENTS = whsec(randomBytes(32));
export const JWK = generateKeyPairSync("ed25519").privateKey.export({ format: "jwk" });
export const [RECEIVER_WORD, QUERY_WORD, BILLING_WORD, OFFICE_WORD] = [
  random(),
  random(),
  random(),
  random(),
];

const LABELS = ["callbacks", "events", "settlement", "operator", "hooks", "cursors", "ed25519"];
/** Whoever holds an operator key is given these. */
export const FOR_OPERATORS = /^(?:operator|older) GET \/v1\/signing-secrets$/;
const FOR_ACCOUNTS =
  /^(?:operator|older|account) (?:GET|POST) \/v1\/accounts\/[^/]+\/signing-secrets$/;
const FOR_OPERATORS_ALONE = /^(?:operator|older) \w+ \/v1\/tasks|^sent \/office/;
/** Whoever reads a task reads its `callback_url`, and so does who is told of trouble with it. */
const TASKS = /^(?:operator|older|account) \w+ \/v1\/(?:tasks|events)|^sent \/office/;

export const NEWER = { SIGNING_SECRETS: SIGNING.join(" "), EVENTS_SECRETS: EVENTS };

export function secretsOf({
  account,
  accountKey,
  importedHash,
  hookToken: token,
}: Tour): readonly Secret[] {
  const fromRelaySecret = RELAY_SECRETS.flatMap((secret) =>
    [...LABELS, ...[0, 1, 2, 3].map((n) => `callbacks/${account}/${n}`)].map((label) => ({
      what: `what is derived for ${label}`,
      spellings: spellingsOfBytes(derived(secret, label)),
      givenBy: givenOf(label),
    })),
  );
  return [
    ...RELAY_SECRETS.map((secret) => textual("RELAY_SECRET", secret)),
    ...OPERATOR_KEYS.map((key) => textual("an operator key", key)),
    ...SIGNING.map((secret) => textual("SIGNING_SECRETS", secret, FOR_OPERATORS)),
    textual("EVENTS_SECRETS", EVENTS, FOR_OPERATORS),
    textual("SIGNING_KEYS", JWK.d ?? ""),
    textual("the upstream's key", UPSTREAM_KEY),
    textual("the upstream's signing secret", WEBHOOK_SECRET),
    textual("SETTLEMENT_URL", BILLING_WORD),
    textual("OPERATOR_CALLBACK_URL", OFFICE_WORD),
    textual(
      "an account's key",
      accountKey.slice(-48),
      /^operator POST \/v1\/accounts\/[^/]+\/keys$/,
    ),
    { what: "the hash of a key", spellings: [importedHash], givenBy: null },
    { what: "a hook's token", spellings: [token], givenBy: /^operator POST \/v1\/tasks$/ },
    textual("a callback_url's query", QUERY_WORD, TASKS),
    textual("what a receiver said", RECEIVER_WORD, FOR_OPERATORS_ALONE),
    ...fromRelaySecret,
  ];
}

function textual(what: string, value: string, givenBy: RegExp | null = null): Secret {
  return { what, spellings: spellingsOfText(value), givenBy };
}

/** Secrets that receivers, upstreams and billing are to verify with; the rest is the relay's own. */
function givenOf(label: string): RegExp | null {
  if (label.startsWith("callbacks/")) return FOR_ACCOUNTS;
  return ["callbacks", "events", "settlement", "operator"].includes(label) ? FOR_OPERATORS : null;
}

export function finds(secret: Secret, text: string): boolean {
  return secret.spellings.some((spelling) => text.includes(spelling));
}

const { x: _x, ...half } = JWK;
const [short = ""] = RELAY_SECRETS;
/** Secrets that are there but of no use, by their variable. */
export const WRONG: readonly (readonly [string, string])[] = [
  ["RELAY_SECRET", short.slice(0, 31)],
  ["OPERATOR_KEYS", `${OPERATOR_KEYS[0]} short`],
  ["SIGNING_SECRETS", `${SIGNING[0]}!`],
  ["EVENTS_SECRETS", EVENTS.replace("whsec_", "")],
  ["SIGNING_KEYS", JSON.stringify(half)],
  ["SIGNING_KEYS", JSON.stringify({ ...JWK, x: publicHalf(randomBytes(32)) })],
  ["SIGNING_KEYS", `${JSON.stringify(JWK)},`],
  ["CONNECTIONS", `{"rep": {"key": "${UPSTREAM_KEY}"`],
  ["CONNECTIONS", JSON.stringify({ rep: { provider: "replicate", key: `${UPSTREAM_KEY} é` } })],
  ["CONNECTIONS", JSON.stringify({ rep: { provider: "replicate", key: [UPSTREAM_KEY] } })],
  ["CONNECTIONS", JSON.stringify({ rep: { provider: UPSTREAM_KEY } })],
  ["CONNECTIONS", JSON.stringify({ rep: { provider: "replicate", secret: UPSTREAM_KEY } })],
  [
    "CONNECTIONS",
    JSON.stringify({ rep: { provider: "replicate", webhook_secret: `${WEBHOOK_SECRET}!` } }),
  ],
  [
    "CONNECTIONS",
    JSON.stringify({
      rep: { provider: "replicate", base_url: `https://${UPSTREAM_KEY}@x.example` },
    }),
  ],
  ["REPLICATE_API_TOKEN", `${UPSTREAM_KEY}\u{e9}`],
  ["SETTLEMENT_URL", `ftp://x.example/?t=${BILLING_WORD}`],
  ["OPERATOR_CALLBACK_URL", `not a URL ${OFFICE_WORD}`],
];

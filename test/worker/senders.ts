import { Webhook } from "standardwebhooks";
import { PROVIDERS, type SigningProvider } from "../../src/providers/registry.ts";
import { ADAPTERS } from "../providers/adapters.ts";
import { connectionsWith, isDeclaredName } from "../providers/declarations.ts";
import { EXAMPLES, examplesIn } from "../providers/examples.ts";
import {
  GATEWAY,
  type HookExample,
  type PollExample,
} from "../../src/providers/shared/examples/report-examples.ts";
import { base64, base64Url, hex, hmac } from "../providers/hook.ts";
import type { Hooked } from "./hooked.ts";

type Headers = Readonly<Record<string, string>>;

/** A provider that sends hooks: its documented hooks and answers, and its way of signing. */
export interface Sender {
  readonly provider: string;
  readonly isBodySigned: boolean;
  /** States that the relay verifies the body with keys that the provider publishes, without a secret. */
  readonly hasPublishedKeys: boolean;
  /** States that the provider has no host of its own: a connection needs a key and names the host. */
  readonly isGateway: boolean;
  /** States that the hooks of the provider contain the id of the job. */
  readonly namesJobs: boolean;
  /** Variables with which the relay can poll the provider. */
  readonly keyVars: Headers;
  /** Further variables with which the relay verifies the provider's signatures. */
  readonly secretVars: Headers;
  readonly hooks: readonly HookExample[];
  readonly done: PollExample;
  readonly open: PollExample;
  /** Returns the signature headers of a hook with this body at the present time. */
  readonly sign: (body: string, task: Hooked) => Promise<Headers>;
}

/** Test key of RFC 8032 §7.1, test 1, which all providers with published keys sign with. */
export const PUBLISHED_JWK = {
  kty: "OKP",
  crv: "Ed25519",
  x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
};
const PRIVATE_JWK = { ...PUBLISHED_JWK, d: "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A" };

const WHSEC = `whsec_${btoa("test-only-webhook-secret")}`;
const TEXT_SECRET = "test-only-webhook-secret";
const FAL_USER = "fal-user-0001";
/** Task ids that the example hooks contain. */
const ECHOED = /0f8fad5b-d9cb-469f-a165-70867728950e|0190f5c2-0000-7000-8000-000000000001/g;

const SIGNERS: Readonly<Record<SigningProvider, Sender["sign"]>> = {
  replicate: signedAsStandardWebhook,
  kling: signedAsStandardWebhook,
  higgsfield: signedAsStandardWebhook,
  async wavespeed(body) {
    const content = `msg_1.${nowS()}.${body}`;
    return webhookHeaders(`v3,${hex(await hmac(TEXT_SECRET, content))}`);
  },
  async "openai-videos"(body) {
    return webhookHeaders(`v1,${base64(await hmac(TEXT_SECRET, `msg_1.${nowS()}.${body}`))}`);
  },
  async openrouter(body) {
    const signature = hex(await hmac(TEXT_SECRET, `${nowS()},${body}`));
    return { "X-OpenRouter-Signature": `t=${nowS()},v1=${signature}` };
  },
  async kie(body) {
    const jobId = /"task_?[iI]d":"([^"]+)"/.exec(body)?.[1] ?? "";
    const signature = base64(await hmac(TEXT_SECRET, `${jobId}.${nowS()}`));
    return { "X-Webhook-Timestamp": nowS(), "X-Webhook-Signature": signature };
  },
  async vidu(_body, { hookUrl }) {
    const date = new Date(Date.now()).toUTCString();
    const head = ["POST", new URL(hookUrl).pathname, "", "vidu", date];
    const content = [...head, `Date:${date}`, "x-request-nonce:n-1", ""].join("\n");
    return {
      Date: date,
      "x-request-nonce": "n-1",
      "X-HMAC-ACCESS-KEY": "vidu",
      "X-HMAC-ALGORITHM": "hmac-sha256",
      "X-HMAC-SIGNED-HEADERS": "Date;x-request-nonce",
      "X-HMAC-SIGNATURE": base64(await hmac("test-only-vidu-key", content)),
    };
  },
  async fal(body) {
    const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(body));
    const content = `req-1\n${FAL_USER}\n${nowS()}\n${hex(new Uint8Array(digest))}`;
    return {
      "X-Fal-Webhook-Request-Id": "req-1",
      "X-Fal-Webhook-User-Id": FAL_USER,
      "X-Fal-Webhook-Timestamp": nowS(),
      "X-Fal-Webhook-Signature": hex(await ed25519(content)),
    };
  },
  async atlascloud(body) {
    return {
      "X-AtlasCloud-Webhook-Timestamp": nowS(),
      "X-AtlasCloud-Webhook-Signature-Ed25519": base64Url(await ed25519(`${nowS()}.${body}`)),
    };
  },
};

/** Variables besides the API key that the check of the signatures of each provider needs. */
const SECRET_VARS: Readonly<Record<SigningProvider, Headers>> = {
  replicate: { REPLICATE_WEBHOOK_SECRET: WHSEC },
  kling: { KLING_WEBHOOK_SECRET: WHSEC },
  higgsfield: { HIGGSFIELD_WEBHOOK_SECRET: WHSEC },
  wavespeed: { WAVESPEED_WEBHOOK_SECRET: `whsec_${TEXT_SECRET}` },
  "openai-videos": { OPENAI_VIDEOS_WEBHOOK_SECRET: TEXT_SECRET },
  openrouter: { OPENROUTER_WEBHOOK_SECRET: TEXT_SECRET },
  kie: { KIE_WEBHOOK_KEY: TEXT_SECRET },
  fal: { FAL_USER_ID: FAL_USER },
  vidu: {},
  atlascloud: {},
};

/** How declared upstreams sign, by the name of the connection. */
const DECLARED_SIGNERS: Readonly<Record<string, Sender["sign"]>> = {
  async "sync-so"(body) {
    const signature = hex(await hmac(TEXT_SECRET, `${nowS()}.${body}`));
    return { "Sync-Signature": `t=${nowS()},v1=${signature}` };
  },
};

/** Every provider that sends hooks, and every declared upstream that does. */
export const SENDERS: readonly Sender[] = EXAMPLES.flatMap(({ provider, hooks, polls }) => {
  const known = ADAPTERS.get(provider);
  if (known?.hooks == null) return [];
  const done = polls.success;
  const open = found(examplesIn(polls), ({ means, endpoint }) => {
    return endpoint === done.endpoint && isStatus(means, "queued", "processing");
  });
  return {
    provider,
    isBodySigned: known.hooks.assurance === "body-signed",
    hasPublishedKeys: known.jwksUrl !== undefined,
    isGateway: known.baseUrls === null,
    namesJobs: examplesIn(hooks).some(({ jobId }) => jobId !== null),
    keyVars: keyVarsOf(provider, `test-only-${provider}-key`),
    secretVars: secretVarsOf(provider),
    hooks: examplesIn(hooks),
    done,
    open,
    sign: signerOf(provider),
  };
});

function isSigning(provider: string): provider is SigningProvider {
  return provider in SIGNERS;
}

function signerOf(provider: string): Sender["sign"] {
  return isSigning(provider)
    ? SIGNERS[provider]
    : (DECLARED_SIGNERS[provider] ?? (async () => ({})));
}

/** Returns the variables with a provider's webhook secret; for a declared upstream, the connection with its key too. */
function secretVarsOf(provider: string): Headers {
  if (isSigning(provider)) return SECRET_VARS[provider];
  if (!isDeclaredName(provider) || DECLARED_SIGNERS[provider] === undefined) return {};
  const secrets = { key: `test-only-${provider}-key`, webhook_secret: TEXT_SECRET };
  return { CONNECTIONS: connectionsWith(provider, secrets) };
}

/**
 * Returns the variables with a provider's API key and, if it has no host of its own, the host of a gateway. For a declared
 * upstream, these are its connection.
 */
export function keyVarsOf(provider: string, key: string): Headers {
  if (isDeclaredName(provider)) {
    return { CONNECTIONS: connectionsWith(provider, { key, webhook_secret: null }) };
  }
  const known = PROVIDERS.get(provider);
  if (known === undefined) throw new Error(`no provider is named "${provider}"`);
  const { variables, baseUrls } = known;
  return { [variables.key]: key, ...(baseUrls === null && { [variables.baseUrl]: GATEWAY }) };
}

/** Returns the body of an example with the id of this task. */
export function bodyFor({ body }: HookExample, { id }: Hooked): string {
  return body.replaceAll(ECHOED, id);
}

export function isStatus(means: unknown, ...statuses: readonly string[]): boolean {
  if (typeof means !== "object" || means === null) return false;
  const status: unknown = Reflect.get(means, "status");
  return typeof status === "string" && statuses.includes(status);
}

export function found<T>(items: readonly T[], fits: (item: T) => boolean): T {
  const item = items.find(fits);
  if (item === undefined) throw new Error("no example matches");
  return item;
}

async function ed25519(content: string): Promise<Uint8Array> {
  const key = await crypto.subtle.importKey("jwk", PRIVATE_JWK, "Ed25519", false, ["sign"]);
  const bytes = new TextEncoder().encode(content);
  return new Uint8Array(await crypto.subtle.sign("Ed25519", key, bytes));
}

async function signedAsStandardWebhook(body: string): Promise<Headers> {
  return webhookHeaders(new Webhook(WHSEC).sign("msg_1", new Date(Date.now()), body));
}

function webhookHeaders(signature: string): Headers {
  return { "webhook-id": "msg_1", "webhook-timestamp": nowS(), "webhook-signature": signature };
}

function nowS(): string {
  return String(Math.floor(Date.now() / 1000));
}

import type { Descriptions } from "./description.ts";

/** Descriptions of the secrets. In a secret that can contain several values, the newest stands first. */
export const SECRETS = {
  RELAY_SECRET: {
    fallback: null,
    without: "required",
    values: "at least 32 random bytes, one or more, space-separated",
    meaning:
      "hook URLs, API keys of accounts, callback secrets and signing keys are derived from it",
  },
  OPERATOR_KEYS: {
    fallback: null,
    without: "required",
    values: "at least 16 characters, one or more, space-separated",
    meaning:
      "keys of the operator; an entry may have a role and a label: see [operator keys](#operator-keys)",
  },
  CONNECTIONS: {
    fallback: null,
    values: "JSON",
    aliases: ["CONNECTIONS_2", "CONNECTIONS_3"],
    meaning:
      'further accounts and regions of providers: `{"ark-intl": {"provider": "ark", "key": "…", "base_url": "…"}}`; each name can be used as `provider` of a task. Cloudflare limits a secret to 5 KB, about 20 connections: put more into the next one. [providers.md](providers.md#several-connections) has the fields',
  },
  SIGNING_SECRETS: {
    fallback: null,
    without: "derived",
    values: "`whsec_…`, space-separated",
    meaning: "replaces the derived callback secrets; accounts keep their derived secrets",
  },
  EVENTS_SECRETS: {
    fallback: null,
    without: "derived",
    values: "`whsec_…`, space-separated",
    meaning: "replaces the derived secrets that events are signed with",
  },
  SIGNING_KEYS: {
    fallback: null,
    without: "derived",
    values: "JWK, space-separated",
    meaning: "replaces the derived Ed25519 private keys",
  },
} as const satisfies Descriptions;

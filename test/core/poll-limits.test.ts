import { expect, it } from "vitest";
import { configuredWith, connections } from "./configuration.ts";

const SECRET = "whsec_YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE=";
const GATEWAY = { provider: "openai-videos", base_url: "https://gateway.example.com" };

it.each([
  [
    "2 min, when the relay can verify the bodies of the provider's hooks",
    { provider: "replicate", webhook_secret: SECRET },
    120_000,
  ],
  [
    "1 min, when the relay cannot verify the bodies of the provider's hooks",
    { provider: "replicate" },
    60_000,
  ],
  [
    "1 min, when a URL of public keys is configured, but the provider signs with a secret",
    { provider: "replicate", jwks_url: "https://api.replicate.com/keys" },
    60_000,
  ],
  [
    "1 min, when all customers of the provider share its signing keys, so that its hooks prove little",
    { provider: "atlascloud" },
    60_000,
  ],
  ["0 s, when the provider's output links live only for minutes", { provider: "bfl" }, 0],
  [
    "2 min, when the provider is a gateway and the secret of its hooks is configured",
    { ...GATEWAY, webhook_secret: "text" },
    120_000,
  ],
])(
  "polls wait for the expected hook until the job is 2 min old, 1 min if the hooks cannot be trusted, or not at all if links expire soon: %s",
  (_, entry, hookWaitMs) => {
    const result = configuredWith(connections({ a: { key: "test-only-key", ...entry } }));
    expect(result.ok && result.value.polls.get("a")?.hookWaitMs).toBe(hookWaitMs);
  },
);

it.each([
  ["wait 1 min for a hook that the relay cannot verify", { provider: "replicate" }, 60_000],
  [
    "wait only 1 min when the hooks of the operator's jobs are verified, because the customer's are not",
    { provider: "replicate", key: "test-only-key", webhook_secret: SECRET },
    60_000,
  ],
  [
    "wait only 1 min when hooks are verified by the provider's published keys and the operator's user id",
    { provider: "fal", key: "test-only-key", user_id: "operator" },
    60_000,
  ],
  ["wait for no hook when links to outputs expire within minutes", { provider: "bfl" }, 0],
  [
    "expect no hook of a gateway whose hooks only the operator's secret would verify",
    { ...GATEWAY, webhook_secret: "text" },
    null,
  ],
])(
  "a job submitted with a customer's key can be polled even at a connection without a key of its own, and its polls %s",
  (_, entry, hookWaitMs) => {
    const result = configuredWith(connections({ a: entry }));
    if (!result.ok) throw new Error("the configuration was refused");
    expect(result.value.customerPolls.get("a")).toMatchObject({ hookWaitMs });
    expect(result.value.polls.has("a")).toBe("key" in entry);
  },
);

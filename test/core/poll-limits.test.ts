import { expect, it } from "vitest";
import { configuredWith, connections } from "./configuration.ts";

const SECRET = "whsec_YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE=";
const GATEWAY = { provider: "openai-videos", base_url: "https://gateway.example.com" };

it.each([
  [
    "2 min, for a connection that can verify the bodies of hooks",
    { provider: "replicate", webhook_secret: SECRET },
    120_000,
  ],
  [
    "1 min, for a connection that cannot verify the bodies of hooks",
    { provider: "replicate" },
    60_000,
  ],
  [
    "1 min, for a provider whose customers share its signing keys",
    { provider: "atlascloud" },
    60_000,
  ],
  ["0 s, for a provider whose output links live only for minutes", { provider: "bfl" }, 0],
  ["2 min, for a gateway with a webhook secret", { ...GATEWAY, webhook_secret: "text" }, 120_000],
])("an expected hook counts as late at a job age of %s", (_, entry, hookWaitMs) => {
  const result = configuredWith(connections({ a: { key: "test-only-key", ...entry } }));
  expect(result.ok && result.value.polls.get("a")?.hookWaitMs).toBe(hookWaitMs);
});

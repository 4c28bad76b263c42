import { expect, it } from "vitest";
import { parseConfig } from "../../src/config/config.ts";

it.each([
  [
    "2 min of a connection that can verify the bodies of hooks",
    { provider: "replicate", webhook_secret: "whsec_YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE=" },
    120_000,
  ],
  ["1 min of a connection that cannot", { provider: "replicate" }, 60_000],
  ["1 min of a provider whose customers share its keys", { provider: "atlascloud" }, 60_000],
  ["0 s of a provider whose links live for minutes", { provider: "bfl" }, 0],
])("a hook that is expected is late after %s", (_, entry, hookWaitMs) => {
  const vars = {
    RELAY_SECRET: "r".repeat(32),
    OPERATOR_KEYS: "o".repeat(16),
    CONNECTIONS: JSON.stringify({ a: { key: "test-only-key", ...entry } }),
  };
  const flags = {
    global_fetch_strictly_public: true,
    durable_object_io_tasks_prevent_eviction: true,
  };
  const result = parseConfig(vars, flags);
  expect(result.ok && result.value.polls.get("a")?.hookWaitMs).toBe(hookWaitMs);
});

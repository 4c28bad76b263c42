import { cloudflareTest } from "@cloudflare/vitest-pool-workers";
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    projects: [
      { test: { name: "core", include: ["test/core/**/*.test.ts"], testTimeout: 60_000 } },
      {
        plugins: [
          cloudflareTest({
            wrangler: { configPath: "./wrangler.toml" },
            miniflare: {
              bindings: {
                RELAY_SECRET: "test-only-relay-secret-0123456789abcdef",
                OPERATOR_KEYS: "test-only-operator-key test-only-older-operator-key",
                // Empty is the default, whatever the .dev.vars of this machine says.
                CALLBACK_SCHEDULE_S: "",
                CALLBACK_TIMEOUT_S: "",
                RETENTION_DAYS: "",
                TASK_DEADLINE_HOURS: "",
                MAX_BODY_KB: "",
                ALLOW_LOCAL_CALLBACKS: "",
                PAUSED: "",
                PUBLIC_URL: "",
                SIGNING_SECRETS: "",
                EVENTS_SECRETS: "",
                SIGNING_KEYS: "",
                SETTLEMENT_URL: "",
              },
            },
          }),
        ],
        test: { name: "worker", include: ["test/worker/**/*.test.ts"], testTimeout: 60_000 },
      },
      {
        test: {
          name: "process",
          include: ["test/process/**/*.test.ts"],
          testTimeout: 300_000,
          hookTimeout: 60_000,
          // Each of these starts servers of its own and measures nothing but order and counts.
          fileParallelism: false,
        },
      },
    ],
  },
});

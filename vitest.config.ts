import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { cloudflareTest } from "@cloudflare/vitest-pool-workers";
import { defineConfig } from "vitest/config";
import { PlantedSecretsReporter } from "./test/process/planted-secrets-reporter.ts";

const BINDINGS = {
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
  OPERATOR_CALLBACK_URL: "",
  SANDBOX: "",
  ERROR_TEXT: "",
  CONNECTIONS: "",
  ARK_API_KEY: "",
  ARK_BASE_URL: "",
  FAL_KEY: "",
  FAL_BASE_URL: "",
  FAL_USER_ID: "",
  KIE_API_KEY: "",
  KIE_BASE_URL: "",
  KIE_WEBHOOK_KEY: "",
  KLING_API_KEY: "",
  KLING_BASE_URL: "",
  LUMA_API_KEY: "",
  LUMA_BASE_URL: "",
  MINIMAX_API_KEY: "",
  MINIMAX_BASE_URL: "",
  OPENROUTER_API_KEY: "",
  OPENROUTER_BASE_URL: "",
  OPENROUTER_WEBHOOK_SECRET: "",
  REPLICATE_API_TOKEN: "",
  REPLICATE_BASE_URL: "",
  REPLICATE_WEBHOOK_SECRET: "",
  RUNWAY_API_KEY: "",
  RUNWAY_BASE_URL: "",
  VIDU_API_KEY: "",
  VIDU_BASE_URL: "",
  WAVESPEED_API_KEY: "",
  WAVESPEED_BASE_URL: "",
  WAVESPEED_WEBHOOK_SECRET: "",
};

/** They wait for alarms and polls far more than they work, so they wait together. */
const WAITING_TESTS = [
  "demo",
  "eviction",
  "hanging-poll",
  "jwks",
  "lost-hooks",
  "providers",
  "unconfigured",
].map((name) => `test/process/${name}.test.ts`);

export default defineConfig({
  test: {
    reporters: ["default", new PlantedSecretsReporter()],
    projects: [
      {
        test: {
          name: "core",
          include: ["test/core/**/*.test.ts", "test/providers/**/*.test.ts"],
          testTimeout: 60_000,
          maxWorkers: 2,
        },
      },
      {
        test: {
          name: "fuzz",
          include: ["test/fuzz/**/*.test.ts"],
          testTimeout: 300_000,
          maxWorkers: 2,
        },
      },
      workerd("worker", withoutIndex()),
      workerd("index", "./wrangler.toml"),
      {
        test: {
          name: "simulation",
          include: ["test/simulation/**/*.test.ts"],
          testTimeout: 600_000,
          // Each takes all cores.
          maxWorkers: 1,
          sequence: { groupOrder: 3 },
        },
      },
      {
        test: {
          name: "process",
          include: ["test/process/**/*.test.ts"],
          exclude: WAITING_TESTS,
          testTimeout: 300_000,
          hookTimeout: 60_000,
          // Each of these starts servers of its own and measures nothing but order and counts.
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          name: "waiting",
          include: WAITING_TESTS,
          testTimeout: 300_000,
          hookTimeout: 60_000,
          maxWorkers: WAITING_TESTS.length,
          maxConcurrency: 12,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});

/** Tests on real workerd, with what a wrangler configuration binds. */
function workerd(name: string, configPath: string) {
  return {
    plugins: [cloudflareTest({ wrangler: { configPath }, miniflare: { bindings: BINDINGS } })],
    test: { name, include: [`test/${name}/**/*.test.ts`], testTimeout: 60_000, maxWorkers: 2 },
  };
}

/** The relay works whole without the index, and an object then has no alarms but its own. */
function withoutIndex(): string {
  const root = import.meta.dirname;
  const config = readFileSync(join(root, "wrangler.toml"), "utf8").replace(
    /^\[\[d1_databases\]\]\n(?:\w.*\n)+/m,
    "",
  );
  const path = join(root, "wrangler.unindexed.toml");
  writeFileSync(path, config);
  return path;
}

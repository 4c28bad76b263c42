import { globSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cloudflareTest } from "@cloudflare/vitest-pool-workers";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { copyWranglerConfig } from "./test/process/harness/wrangler-config.ts";
import { LeakReporter } from "./test/reporters/leak-reporter.ts";
import { ProjectReporter } from "./test/reporters/project-reporter.ts";

const BINDINGS = {
  RELAY_SECRET: "test-only-relay-secret-0123456789abcdef",
  OPERATOR_KEYS: "test-only-operator-key test-only-older-operator-key",
  // Tests look at single steps in the log, and for secrets in every line.
  LOG: "all",
  LISTEN: "true",
  // The host to which tests send their requests.
  PUBLIC_URL: "https://relay.example.com",
};

/** What the tests of outputs bind: the bucket in which the relay keeps them, and a limit that tests can reach. */
const OUTPUTS = {
  r2Buckets: ["OUTPUTS"],
  bindings: { ...BINDINGS, MAX_OUTPUT_MB: "20" },
  // Only a test of the index binds it as such.
  d1Databases: ["SHARD_1"],
};

/** The tests of the index, which run once with D1 and once with the object. */
const INDEX_TESTS = ["test/index/*.test.ts"];
/** What both bind: a bucket, and further databases, which a test binds as shards of the index. */
const INDEX = { r2Buckets: ["FILES"], d1Databases: ["SHARD_1", "SHARD_2"] };
const INDEX_OBJECT = { INDEX_OBJECT: { className: "IndexObject", useSQLite: true } };

/** They wait for alarms and polls far more than they work, so all of them run at once. */
const WAITING_TESTS = [
  "crash/eviction",
  "crash/interrupted",
  "limits/stopped-writers",
  "limits/stopped-readers",
  "upstreams/fal-keys",
].map((name) => `test/process/${name}.test.ts`);
const SMOKE_TESTS = ["process/smoke", "lint", "conformance"].map(
  (name) => `test/${name}/*.test.ts`,
);

/** The tests that start their relay with `startRelay`, which run on a cluster too. */
const CLUSTER_TESTS = globSync("test/{process,browser}/**/*.test.ts").filter((file) =>
  readFileSync(file, "utf8").includes("startRelay("),
);

/**
 * The tests of processes that take two to five minutes each, in the order in which they start: those of random kills
 * mostly wait, and between and after them stand those that mostly compute.
 */
const LONG_TESTS = [
  "chaos/queue",
  "lint/long/linear-patterns",
  "chaos/callbacks",
  "mutation/mutation-settings",
  "chaos/outputs",
  "scaffold/new-provider",
  "chaos/submissions",
  "client/python",
  "chaos/cluster",
  "upgrade/upgrade",
  "chaos/endpoints",
  "deploy/deploy-first",
  "self-host/index-object",
  "upgrade/gradual",
  "crash/index-agreement",
  "self-host/cluster",
].map((name) => `/${name}.test.ts`);

/**
 * Starts the tests that take longest before the other files of their project. Vitest would start the largest files first,
 * and these are short.
 */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // oxlint-disable-next-line unicorn/no-array-sort -- this is the order of Vitest, not that of an array
    const sorted = await super.sort(files);
    return sorted.toSorted((a, b) => placeOf(a) - placeOf(b));
  }
}

/** Returns the place of a file among the long tests; of any other, one behind them. */
function placeOf({ moduleId }: TestSpecification): number {
  const place = LONG_TESTS.findIndex((end) => moduleId.endsWith(end));
  return place === -1 ? LONG_TESTS.length : place;
}

// Vitest evaluates this file once per project.
const wranglerDirectory = join(tmpdir(), `task-relay-vitest-${process.pid}`);
if (mkdirSync(wranglerDirectory, { recursive: true }) !== undefined) {
  process.on("exit", () => rmSync(wranglerDirectory, { recursive: true, force: true }));
}

// `npm test` runs core, fuzz, worker, index, outputs, smoke and simulation; `npm run test:browser` runs browser;
// `npm run test:long` runs the others, and fuzz and simulation at full scale.
export default defineConfig({
  test: {
    silent: "passed-only",
    sequence: { sequencer: LongestFirst },
    reporters: [new ProjectReporter(), new LeakReporter()],
    projects: [
      node("core", ["test/{core,docs,reference,providers,client}/**/*.test.ts"], {
        isolate: false,
      }),
      node("fuzz", ["test/fuzz/**/*.test.ts"], { testTimeout: 300_000, isolate: false }),
      // Safe to share one instance of workerd: each test uses objects of its own and restores what it
      // replaces; those of the index empty its tables.
      workerd("worker", ["test/worker/{,mcp/}*.test.ts"], false, { isolate: false }),
      workerd("worker-long", ["test/worker/long/*.test.ts"], false),
      workerd("index", INDEX_TESTS, true, { isolate: false }, INDEX),
      // The same tests on the other store of the index, and those of that store.
      workerd(
        "index-object",
        [...INDEX_TESTS, "test/index-object/*.test.ts"],
        false,
        { isolate: false },
        { ...INDEX, durableObjects: INDEX_OBJECT },
      ),
      workerd("outputs", ["test/outputs/*.test.ts"], false, { isolate: false }, OUTPUTS),
      // All files of a worker share one browser.
      node("browser", ["test/browser/**/*.test.ts"], { isolate: false }),
      // All files of a worker share the bundles of the relay, which take seconds to make.
      node("smoke", SMOKE_TESTS, { isolate: false, sequence: { groupOrder: 1 } }),
      // Each file of these uses all cores.
      node("simulation", ["test/simulation/*.test.ts"], {
        testTimeout: 600_000,
        maxWorkers: 1,
        sequence: { groupOrder: 2 },
      }),
      node("planted", ["test/simulation/planted/*.test.ts"], {
        testTimeout: 600_000,
        maxWorkers: 1,
        sequence: { groupOrder: 3 },
      }),
      node("process", ["test/process/**/*.test.ts", "test/lint/long/*.test.ts"], {
        exclude: [...WAITING_TESTS, ...SMOKE_TESTS],
        isolate: false,
        // Random kills are run up to three times on a busy machine.
        testTimeout: 1_200_000,
        // More than the cores, because the tests wait for processes most of the time.
        maxWorkers: 3,
        sequence: { groupOrder: 4 },
      }),
      // In the same group, and so at the same time, as the tests of processes.
      node("cluster", CLUSTER_TESTS, {
        env: { RELAY_NODES: "2" },
        setupFiles: ["test/process/harness/skip-without-cluster.ts"],
        isolate: false,
        testTimeout: 600_000,
        maxWorkers: 3,
        sequence: { groupOrder: 4 },
      }),
      node("waiting", WAITING_TESTS, {
        testTimeout: 600_000,
        maxWorkers: WAITING_TESTS.length,
        maxConcurrency: 12,
        sequence: { groupOrder: 5 },
      }),
    ],
  },
});

/** Tests on Node. */
function node(name: string, include: string[], options: object = {}) {
  const common = { testTimeout: 60_000, hookTimeout: 60_000, maxWorkers: 2 };
  return { test: { name, include, ...common, ...options } };
}

/** Tests on workerd with the bindings of `wrangler.toml` and further ones; `hasIndex` false removes D1. */
function workerd(
  name: string,
  include: string[],
  hasIndex: boolean,
  options: object = {},
  further: object = {},
) {
  const given = { hasIndex, hasLimits: false, hasOutputs: false };
  const wrangler = { configPath: copyWranglerConfig(wranglerDirectory, given) };
  const setupFiles = ["test/worker/storage-limit.ts"];
  return {
    plugins: [cloudflareTest({ wrangler, miniflare: { bindings: BINDINGS, ...further } })],
    test: { name, include, setupFiles, testTimeout: 60_000, maxWorkers: 2, ...options },
  };
}

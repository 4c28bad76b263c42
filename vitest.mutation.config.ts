import { defineConfig } from "vitest/config";

/**
 * The quick tests of the core, without random runs and the 28 days without an index, which would make every
 * mutant slow.
 */
export default defineConfig({
  // The sandbox of a mutation run has no tsconfig.json.
  oxc: { jsx: { runtime: "automatic", importSource: "hono/jsx" } },
  test: {
    include: ["test/core/**/*.test.ts"],
    exclude: ["**/*{properties,kept-records,absent-index}*.test.ts"],
    testTimeout: 60_000,
    isolate: false,
    maxWorkers: 1,
  },
});

import { defineConfig } from "vitest/config";

/**
 * The quick tests of the core, without random runs and tests of the whole work loop, which would make every
 * mutant slow, and without pages, which need JSX.
 */
export default defineConfig({
  test: {
    include: ["test/core/**/*.test.ts"],
    exclude: ["**/*{properties,stored-records,url-policy}*.test.ts", "test/core/{console,loop}/**"],
    isolate: false,
    maxWorkers: 1,
  },
});

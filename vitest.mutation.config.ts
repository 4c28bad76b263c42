import { defineConfig } from "vitest/config";

/** The quick tests of the core: random runs and tests of the whole work loop would make every mutant slow. */
export default defineConfig({
  test: {
    include: ["test/core/**/*.test.ts"],
    exclude: ["**/*{properties,stored-records,url-policy}*.test.ts", "test/core/loop/**"],
    isolate: false,
    maxWorkers: 1,
  },
});

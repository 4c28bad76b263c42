import { defineConfig } from "vitest/config";

/** The quick tests of the core: random runs, lives and crash sagas would make every mutant slow. */
export default defineConfig({
  test: {
    include: ["test/core/**/*.test.ts"],
    exclude: ["**/*{crashes,properties,stored-records,truth,url-policy,work-loop}*.test.ts"],
    isolate: false,
    maxWorkers: 1,
  },
});

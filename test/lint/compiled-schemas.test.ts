import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(ROOT, path), "utf8");

it("each schema that src compiles to code is exported, and named in the test that compares it with zod's result and in the one that runs it on released workerd", () => {
  const sources = globSync("src/**/*.ts", { cwd: ROOT }).map(read).join("\n");
  const names = Array.from(
    sources.matchAll(/export const (\w+) = compiled\(/g),
    ([, name]) => name,
  );
  expect(names).toHaveLength(sources.split("compiled(").length - 1);
  expect(names).toContain("StoredRecord");
  for (const path of [
    "test/fuzz/compiled-schemas.test.ts",
    "test/process/entries/generated-code.ts",
  ]) {
    for (const name of names) expect(read(path), path).toContain(name);
  }
});

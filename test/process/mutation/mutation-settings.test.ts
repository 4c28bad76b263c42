import { execFileSync } from "node:child_process";
import { globSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ROOT } from "../harness/child.ts";
import { newcomersEnvironment } from "../readme/checkout.ts";

it("npm run mutation mutates every file of src/core, and all the tests that it uses run and pass while nothing is mutated", () => {
  const stryker = join(ROOT, "node_modules/@stryker-mutator/core/bin/stryker.js");
  const args = [stryker, "run", "--dryRunOnly", "--reporters", "clear-text"];
  // Fails when a test fails.
  const output = execFileSync(process.execPath, args, {
    cwd: ROOT,
    env: newcomersEnvironment(),
    encoding: "utf8",
  });
  const count = (pattern: RegExp) => Number(pattern.exec(output)?.[1]);
  expect(count(/Found (\d+) of \d+ file/), output).toBe(
    globSync("src/core/**/*", { cwd: ROOT, withFileTypes: true }).filter((each) => each.isFile())
      .length,
  );
  expect(count(/with (\d+) mutant/), output).toBeGreaterThan(1_000);
  expect(count(/Initial test run succeeded\. Ran (\d+) tests/), output).toBeGreaterThan(1_000);
});

import { spawnSync } from "node:child_process";
import { expect, it } from "vitest";
import { ROOT } from "../harness/child.ts";

it.each([
  "scripts/setup.ts",
  "scripts/deploy-first.ts",
  "scripts/doctor.ts",
  "scripts/receive.ts",
  "scripts/conformance.ts",
  "scripts/cost.ts",
  "scripts/corpus.ts",
  "scripts/providers-check.ts",
  "scripts/providers-new.ts",
  "client/src/listen/main.ts",
])("the command %s with --help prints its usage, does nothing else, and succeeds", (script) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, "--help"], {
    cwd: ROOT,
    encoding: "utf8",
  });
  expect([status, stderr]).toEqual([0, ""]);
  expect(stdout).toMatch(/^Usage: /);
});

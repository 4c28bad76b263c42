import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROOT } from "./child.ts";

const OXLINT = join(ROOT, "node_modules/.bin/oxlint");

// A tree of its own under the project's rules: a probe among the real sources would be seen by others.
let tree: string;

beforeAll(() => {
  tree = mkdtempSync(join(tmpdir(), "task-relay-purity-"));
  mkdirSync(join(tree, "src/core"), { recursive: true });
  copyFileSync(join(ROOT, ".oxlintrc.json"), join(tree, ".oxlintrc.json"));
});

afterAll(() => rmSync(tree, { recursive: true, force: true }));

/** What `oxlint` says about one line of code in `folder`. */
function lint(folder: string, code: string): { readonly ok: boolean; readonly report: string } {
  const probe = join(folder, "impure-probe.ts");
  writeFileSync(join(tree, probe), `${code}\n`);
  const { status, stdout } = spawnSync(OXLINT, ["-f", "unix", probe], {
    cwd: tree,
    encoding: "utf8",
  });
  return { ok: status === 0, report: stdout };
}

describe("lint keeps the core pure", () => {
  it.each([
    ["the clock", "export const now = Date.now();", "'Date'"],
    ["a new date", "export const now = new Date();", "'Date'"],
    ["randomness", "export const dice = Math.random();", "'Math.random'"],
    ["the network", 'export const answer = fetch("https://example.com");', "'fetch'"],
    ["randomness of the platform", "export const id = crypto.randomUUID();", "'crypto'"],
    ["the network by another name", "export const { fetch: get } = globalThis;", "'globalThis'"],
    ["the clock by another name", "export const now = Temporal.Now.instant();", "'Temporal'"],
    ["async functions", "export async function later() { return 1; }", "require-await"],
    ["timers", "setTimeout(() => {}, 1);", "'setTimeout'"],
    ["promises", "export const later = Promise.resolve();", "'Promise'"],
    ["the log", 'console.log("here");', "'console'"],
    ["the rest of the relay", 'export { policyOf } from "../config.ts";', "'../config.ts'"],
    ["packages", 'export * as z from "zod";', "'zod'"],
    ["the platform", 'export { env } from "cloudflare:workers";', "'cloudflare:workers'"],
  ])("and reports %s", (_what, code, named) => {
    const { ok, report } = lint("src/core", code);
    expect(report).toContain(named);
    expect(ok).toBe(false);
  });

  it("and lets the core import the core", () => {
    expect(lint("src/core", 'export { nextStep } from "./step.ts";')).toMatchObject({ ok: true });
  });

  it("and leaves the rest of the relay its clock", () => {
    expect(lint("src", "export const now = Date.now();")).toMatchObject({ ok: true });
  });
});

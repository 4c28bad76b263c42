import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ROOT } from "../process/harness/child.ts";

const page = readFileSync(join(ROOT, "docs/first-day.md"), "utf8");
const sections = page.split(/^## /m).slice(1);
const blocksOf = (text: string) =>
  [...text.matchAll(/^```(.*)\n([^]*?)^```$/gm)].map(([, kind = "", code = ""]) => ({
    kind,
    code,
  }));
const blocks = blocksOf(page).map(({ code }, i) => [i + 1, code] as const);

it.each(sections.map((section) => [section.split("\n")[0], section]))(
  "docs/first-day.md has shell commands for a real Cloudflare account, each with its expected result, in the section: %s",
  (_, section = "") => {
    const commands = section.split(/^```(?=sh account\n)/m).slice(1);
    expect(blocksOf(section)).toHaveLength(commands.length);
    expect(commands.length).toBeGreaterThan(0);
    for (const command of commands) expect(command).toMatch(/^Expected: ./m);
  },
);

it.each(blocks)("code block %i of docs/first-day.md is valid bash", (_, code) => {
  const { status, stderr } = spawnSync("bash", ["-n"], { input: code, encoding: "utf8" });
  expect([stderr, status]).toEqual(["", 0]);
});

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

it.each(sections.map((section) => [section.split("\n")[0], section]))(
  "docs/first-day.md has shell commands for a real Cloudflare account, each with its expected result, in the section: %s",
  (_, section = "") => {
    const commands = section.split(/^```(?=sh account\n)/m).slice(1);
    expect(blocksOf(section)).toHaveLength(commands.length);
    expect(commands.length).toBeGreaterThan(0);
    for (const command of commands) expect(command).toMatch(/^Expected: ./m);
  },
);

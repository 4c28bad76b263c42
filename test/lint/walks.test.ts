import { existsSync, globSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { expect, it } from "vitest";
import { ROOT } from "../process/harness/child.ts";

const PAGE = readFileSync(join(ROOT, "CONTRIBUTING.md"), "utf8");
const [, section = ""] = /^### Six walks$([^]*?)^#/m.exec(PAGE) ?? [];
const [, decisions = ""] = /^### Where a question is decided$([^]*?)^#/m.exec(PAGE) ?? [];
const WALKS = [...section.matchAll(/^(\S.*):\n\n((?:\d+\. .*\n)+)/gm)].map(
  ([, name = "", items = ""]) => [name, stepsOf(items)] as const,
);

it("CONTRIBUTING.md describes six walks through the code, each in six to nine steps", () => {
  expect(WALKS).toHaveLength(6);
  for (const [, steps] of WALKS) {
    expect(steps.length).toBeGreaterThanOrEqual(6);
    expect(steps.length).toBeLessThanOrEqual(9);
  }
});

it("each file that the six walks through the code in CONTRIBUTING.md name without a folder is a file of src", () => {
  const names = Array.from(section.matchAll(/`([\w-]+\.tsx?)`/g), ([, name = ""]) => name);
  const sources = globSync("src/**/*.{ts,tsx}", { cwd: ROOT }).map((path) => basename(path));
  expect(names.filter((name) => !sources.includes(name))).toEqual([]);
});

it("each file that CONTRIBUTING.md names under the heading Where a question is decided exists", () => {
  const names = Array.from(decisions.matchAll(/`([\w/-]+\.tsx?)`/g), ([, name = ""]) => name);
  expect(names.length).toBeGreaterThan(10);
  expect(names.filter((name) => !existsSync(join(ROOT, name)))).toEqual([]);
});

it.each(WALKS)(
  "the first file of each step of the walk %j in CONTRIBUTING.md is imported by a file of an earlier step, directly or through other files",
  (_name, steps) => {
    const reached = new Set<string>();
    for (const [at, files] of steps.entries()) {
      const [first = ""] = files;
      expect(at === 0 || reached.has(first), first).toBe(true);
      for (const file of files.flatMap((each) => [each, ...importsOf(each)])) {
        for (const each of [file, ...importsOf(file)]) reached.add(each);
      }
    }
  },
);

/** Returns for each step of a walk the files in its text: its own first, then those that it mentions. */
function stepsOf(items: string): readonly (readonly string[])[] {
  return items
    .trimEnd()
    .split("\n")
    .map((item) => Array.from(item.matchAll(/`(src\/[\w/-]+\.tsx?)`/g), ([, path = ""]) => path));
}

/** Returns the files of src that a file imports. @throws when the file does not exist. */
function importsOf(path: string): readonly string[] {
  const imports = readFileSync(join(ROOT, path), "utf8").matchAll(/ from "(\.[^"]+\.tsx?)"/g);
  return Array.from(imports, ([, target = ""]) => join(dirname(path), target));
}

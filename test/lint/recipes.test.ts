import { existsSync, globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, it } from "vitest";
import { wordsOf } from "../../scripts/docs/words.ts";
import { localLinks } from "./markdown-links.ts";

const ROOT = join(import.meta.dirname, "../..");
const MOST_WORDS = 450;
const RECIPES = globSync("docs/recipes/*.md", { cwd: ROOT });
const read = (page: string) => readFileSync(join(ROOT, page), "utf8");

it("docs/README.md links to every recipe", () => {
  const linked = localLinks(read("docs/README.md")).map(({ path }) => `docs/${path}`);
  expect(RECIPES.length).toBeGreaterThan(0);
  expect(RECIPES.filter((page) => !linked.includes(page))).toEqual([]);
});

it.each(RECIPES)(
  `%s has at most ${MOST_WORDS} words, says for whom it is, how to see it work and what surprises, and has a test`,
  (page) => {
    const text = read(page);
    expect(wordsOf(text)).toBeLessThanOrEqual(MOST_WORDS);
    expect(text).toMatch(/^# Recipe: .*\n\nFor /);
    expect(text).toMatch(/^(?:## |\*\*)See it work/m);
    expect(text).toContain("\n## What surprises\n");
    const test = `test/process/recipes/${basename(page, ".md")}.test.ts`;
    expect(existsSync(join(ROOT, test))).toBe(true);
  },
);

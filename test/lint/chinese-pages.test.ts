import { readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { describe, expect, it } from "vitest";
import { localLinks } from "./markdown-links.ts";

const ROOT = join(import.meta.dirname, "../..");
/** The pages in Chinese, by the page in English that each translates. */
const TRANSLATIONS = new Map([
  ["README.md", "docs/zh/README.md"],
  ["docs/quickstart.md", "docs/zh/quickstart.md"],
  ["docs/new-api.md", "docs/zh/new-api.md"],
]);

describe.each([...TRANSLATIONS])("%s and %s", (english, chinese) => {
  const [original, translation] = [partsOf(english), partsOf(chinese)];

  it(`${chinese} has the headings of ${english}, level by level`, () => {
    expect(translation.levels).toEqual(original.levels);
  });

  it(`${chinese} has the commands, programs and examples of ${english}`, () => {
    expect(translation.blocks).toEqual(original.blocks);
  });

  it(`${chinese} has the names in code of ${english}, and its figures`, () => {
    expect(translation.names).toEqual(original.names);
    expect(translation.figures).toEqual(original.figures);
  });

  it(`${chinese} has the links of ${english}, or to their translations`, () => {
    expect(translation.links).toEqual(original.links);
  });
});

/** Returns what a page and its translation have in common. Links to a translation count as to its original. */
function partsOf(page: string) {
  const whole = readFileSync(join(ROOT, page), "utf8")
    .replaceAll(/^<!-- generated: [^]*?^<!-- end of .*$/gm, "")
    .replaceAll(/<[a-z/!][^>]*>/g, "");
  const blocks = whole.match(/^```[^]*?^```$/gm) ?? [];
  const text = whole.replaceAll(/^```[^]*?^```$/gm, "");
  const prose = text.replaceAll(/\]\([^)]*\)/g, "]").replaceAll(/`[^`\n]+`/g, "");
  return {
    blocks,
    levels: text.match(/^#+(?= )/gm) ?? [],
    names: (text.match(/`[^`\n]+`/g) ?? []).toSorted(),
    figures: (prose.match(/\d(?:[\d,.]*\d)?/g) ?? []).toSorted(),
    links: linksOf(page, text),
  };
}

/** Returns the links of a page but those to its own headings and to its translation, with what they lead to. */
function linksOf(page: string, text: string): readonly string[] {
  const originals = new Map<string, string>();
  for (const [english, chinese] of TRANSLATIONS) originals.set(chinese, english);
  const own = originals.get(page) ?? page;
  const local = localLinks(text).flatMap<string>(({ path, anchor }) => {
    const target = normalize(join(dirname(page), path));
    const original = originals.get(target) ?? target;
    if (path === "" || original === own) return [];
    return [anchor === undefined ? original : `${original}#${anchor}`];
  });
  const remote = text.match(/(?<=\]\()https?:[^)]*/g) ?? [];
  return [...local, ...remote].toSorted();
}

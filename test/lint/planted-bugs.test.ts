import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Bug, ROOT, sourceOf } from "../planted/bug-list.ts";
import { bugsOf, PARTS } from "../planted/shell/bugs.ts";
import { BUGS } from "../simulation/planted/bugs.ts";

/** Returns the bugs of which a text to change does not occur once in its source file. */
function misplaced(bugs: readonly Bug[]): readonly string[] {
  return bugs.flatMap(({ what, changes }) =>
    changes.flatMap(({ file, text }) => {
      const source = readFileSync(sourceOf(file, ROOT), "utf8");
      return source.split(text).length === 2 ? [] : [`${what}: not once in ${file}: ${text}`];
    }),
  );
}

it("each text that a planted bug changes occurs once in its source file, so that a change of the sources cannot leave a bug unplanted", () => {
  expect(BUGS.length).toBeGreaterThan(0);
  expect(BUGS.every(({ changes }) => changes.length > 0)).toBe(true);
  expect(misplaced(BUGS)).toEqual([]);
});

describe.each(PARTS)("the planted bugs of the shell in %s", (part) => {
  const bugs = bugsOf(part);

  it(`the bugs that tests plant outside src/core, in the part ${part} of their list, change texts that occur once in their source files`, () => {
    expect(misplaced(bugs)).toEqual([]);
  });

  it(`the bugs that tests plant outside src/core, in the part ${part} of their list, have names of their own and name test files that exist`, () => {
    expect(new Set(bugs.map(({ what }) => what)).size).toBe(bugs.length);
    const files = bugs.flatMap(({ tests }) => tests);
    expect(bugs.filter(({ tests }) => tests.length === 0)).toEqual([]);
    expect(files.filter((file) => !existsSync(join(ROOT, "test", file)))).toEqual([]);
  });
});

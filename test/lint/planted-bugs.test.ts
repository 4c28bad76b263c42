import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Bug, ROOT, sourceOf } from "../planted/bug-list.ts";
import { bugsOf, PARTS } from "../planted/shell/bugs.ts";
import { BUGS, QUEUE_BUGS } from "../simulation/planted/bugs.ts";

/** Returns the bugs of which a text to change does not occur once in its source file. */
function misplaced(bugs: readonly Bug[]): readonly string[] {
  return bugs.flatMap(({ what, changes }) =>
    changes.flatMap(({ file, text }) => {
      const source = readFileSync(sourceOf(file, ROOT), "utf8");
      return source.split(text).length === 2 ? [] : [`${what}: not once in ${file}: ${text}`];
    }),
  );
}

it.each([
  ["tasks", BUGS],
  ["queues", QUEUE_BUGS],
])(
  "each text that a test replaces to plant a bug for the simulation of %s occurs exactly once in its source file, so that no bug stays unplanted when the sources change",
  (_, bugs) => {
    expect(bugs.length).toBeGreaterThan(0);
    expect(bugs.every(({ changes }) => changes.length > 0)).toBe(true);
    expect(misplaced(bugs)).toEqual([]);
  },
);

describe.each(PARTS)("the planted bugs of the shell in %s", (part) => {
  const bugs = bugsOf(part);

  it(`each text outside src/core that a test replaces to plant a bug of the list ${part} occurs exactly once in its file`, () => {
    expect(misplaced(bugs)).toEqual([]);
  });

  it(`each bug of the list ${part}, which tests plant outside src/core, has a name of its own and names test files that exist`, () => {
    expect(new Set(bugs.map(({ what }) => what)).size).toBe(bugs.length);
    const files = bugs.flatMap(({ tests }) => tests);
    expect(bugs.filter(({ tests }) => tests.length === 0)).toEqual([]);
    expect(files.filter((file) => !existsSync(join(ROOT, "test", file)))).toEqual([]);
  });
});

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ROOT } from "../process/harness/child.ts";
import { BUGS } from "../simulation/planted/bugs.ts";

it("each text that a planted bug changes occurs once in its source file, so that a change of the sources cannot leave a bug unplanted", () => {
  const changes = BUGS.flatMap(({ what, changes: each }) =>
    each.map(({ file, text }) => ({ what, file, text })),
  );
  const misplaced = changes.filter(({ file, text }) => {
    const source = readFileSync(join(ROOT, "src", file), "utf8");
    return source.split(text).length !== 2;
  });
  expect(BUGS.length).toBeGreaterThan(0);
  expect(changes.length).toBeGreaterThanOrEqual(BUGS.length);
  expect(misplaced).toEqual([]);
});

import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ROOT } from "../process/harness/child.ts";

/**
 * Declaration of an operation, or of the handler of a page or form: the constant and the name, which it has in stack
 * traces of the minified build.
 */
const DECLARED =
  /\bconst (\w+)[^=\n]* = (?:operation|viewerPage|publicPage|formAction|publicForm)\(\s*(?:"(\w*)")?/g;

it("each handler of an API route, a page or a form has a name of its own, which is that of the constant to which it is assigned", () => {
  const declared = globSync("src/**/*.{ts,tsx}", { cwd: ROOT }).flatMap((path) => {
    const found = readFileSync(join(ROOT, path), "utf8").matchAll(DECLARED);
    return [...found].map(([, constant, name]) => ({ path, constant, name }));
  });
  expect(declared.length).toBeGreaterThan(70);
  expect(declared.filter(({ constant, name }) => name !== constant)).toEqual([]);
  expect(new Set(declared.map(({ name }) => name)).size).toBe(declared.length);
});

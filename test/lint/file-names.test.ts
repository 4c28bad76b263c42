import { globSync, readFileSync } from "node:fs";
import { basename, extname, join } from "node:path";
import { expect, it } from "vitest";
import { ROOT } from "../process/harness/child.ts";

const SOURCES = globSync("src/**/*.{ts,tsx,js}", { cwd: ROOT });
const FILES = [
  ...SOURCES,
  ...globSync("{bench,client,scripts,test}/**/*.{ts,tsx,js}", {
    cwd: ROOT,
    exclude: ["**/node_modules/**"],
  }),
];
/** File that a line of a comment names, perhaps with the folders that it lies in, e.g. `record/task.ts`. */
const NAMED = /(?<![\w./@"-])(?:[\w-]+\/)*[\w-]+\.tsx?(?![\w"])/g;

it("no two files of src have the same name, not even in different folders or with different extensions", () => {
  const names = SOURCES.map((path) => basename(path, extname(path)));
  expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
});

it("the comments in src name only files that exist", () => {
  const unknown = SOURCES.flatMap((path) => {
    const lines = readFileSync(join(ROOT, path), "utf8").split("\n");
    const comments = lines.filter((line) => /^\s*(?:\/\*\*|\*|\/\/)/.test(line)).join("\n");
    const named = [...comments.matchAll(NAMED)].map(([name]) => name);
    return named.filter((name) => !isFile(name)).map((name) => `${path}: ${name}`);
  });
  expect(unknown).toEqual([]);
});

function isFile(name: string): boolean {
  return FILES.some((file) => `/${file}`.endsWith(`/${name}`));
}

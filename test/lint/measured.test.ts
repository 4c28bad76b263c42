import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { coreHash, lifeFiles } from "../../scripts/docs/core-hash.ts";
import { Builds, promisesDoc } from "../../scripts/docs/measured.ts";
import { ROOT } from "../process/harness/child.ts";

const read = (path: string) => readFileSync(join(ROOT, path), "utf8");
const builds = Builds.parse(JSON.parse(read("docs/measured.json")));
const present = coreHash(ROOT);
const pages = {
  "docs/promises.md": (hash: string) => promisesDoc(read("docs/promises.md"), builds, hash),
};
const SENTENCE = "; the core or the simulation has changed since.";

it.each(Object.entries(pages))(
  "%s states for each measured figure the commit, and whether the core or the simulation has changed since, exactly as `npm run docs` generates it",
  (path, generated) => {
    expect(generated(present)).toBe(read(path));
  },
);

it.each(Object.entries(pages))(
  "the generated part of %s says of each figure, by a hash of their code, whether the core or the simulation has changed since it was measured",
  (_, generated) => {
    for (const [name, { commit, hash }] of Object.entries(builds)) {
      const lineIn = (page: string) =>
        page.match(/Figures of [^:]+: [^.]+\./g)?.find((line) => line.includes(name));
      const measured = `: measured at ${commit.slice(0, 7)}`;
      expect(lineIn(generated("0"))).toContain(measured + SENTENCE);
      expect(lineIn(generated(hash))).toContain(
        `${measured}, with the present core and simulation.`,
      );
    }
  },
);

it("every figure of docs/measured.json is in the table of figures of docs/promises.md", () => {
  const [, figures = ""] = read("docs/promises.md").split("\n## Figures\n");
  const rows = figures.match(/^\| .* \| .* \| .* \|$/gm) ?? [];
  expect(Object.keys(builds).filter((name) => !rows.join("\n").includes(name))).toEqual([]);
});

const copy = mkdtempSync(join(tmpdir(), "task-relay-core-"));
afterAll(() => rmSync(copy, { recursive: true }));

it("the hash that tells whether a figure was measured with the present core and simulation changes with their code, but not with comments or tests", () => {
  const files = lifeFiles(ROOT);
  for (const path of files) {
    mkdirSync(dirname(join(copy, path)), { recursive: true });
    cpSync(join(ROOT, path), join(copy, path));
  }
  expect(coreHash(copy)).toBe(present);
  const changing = ["src/core/transition.ts", "src/objects/task/work-loop.ts"];
  for (const path of [...changing, "test/simulation/generator.ts", "test/simulation/worker.ts"]) {
    expect(files).toContain(path);
    const text = readFileSync(join(copy, path), "utf8");
    writeFileSync(join(copy, path), `${text}\nexport const added = 1;\n`);
    expect(coreHash(copy), path).not.toBe(present);
    writeFileSync(join(copy, path), `// A comment.\n\n${text}`);
    expect(coreHash(copy), path).toBe(present);
    writeFileSync(join(copy, path), text);
  }
  expect(files.filter((path) => /planted|\.test\.ts$/.test(path))).toEqual([]);
});

import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { isSimulated, lifeFiles, presentHashes } from "../../scripts/docs/core-hash.ts";
import { Builds, promisesDoc } from "../../scripts/docs/measured.ts";
import { ROOT } from "../process/harness/child.ts";

const read = (path: string) => readFileSync(join(ROOT, path), "utf8");
const builds = Builds.parse(JSON.parse(read("docs/measured.json")));
const presentHash = presentHashes(ROOT);
/** Two figures: one that depends on the simulation too, and one that depends on the core alone. */
const [SIMULATED, REAL] = ["simulation", "chaos"];
const pages = {
  "docs/promises.md": (hashOf: (figure: string) => string) =>
    promisesDoc(read("docs/promises.md"), builds, hashOf),
};

it.each(Object.entries(pages))(
  "%s states for each measured figure the commit, and whether its code has changed since, exactly as `npm run docs` generates it",
  (path, generated) => {
    expect(generated(presentHash)).toBe(read(path));
  },
);

it.each(Object.entries(pages))(
  "the generated part of %s says of each figure, by a hash of its code, whether this code has changed since it was measured: the core, for figures of simulated lives also the simulation",
  (_, generated) => {
    for (const [name, { commit, hash }] of Object.entries(builds)) {
      const lineIn = (page: string) =>
        page.match(/Figures of [^:]+: [^.]+\./g)?.find((line) => namesOf(line).includes(name));
      const measured = `: measured at ${commit.slice(0, 7)}`;
      const [code, codes] = isSimulated(name)
        ? ["core and simulation", "the core or the simulation"]
        : ["core", "the core"];
      expect(lineIn(generated(() => "0"))).toContain(`${measured}; ${codes} has changed since.`);
      expect(lineIn(generated(() => hash))).toContain(`${measured}, with the present ${code}.`);
    }
  },
);

/** Returns the figures that a sentence of the page names. */
function namesOf(sentence: string): readonly string[] {
  return sentence.replace(/^Figures of |:.*$/g, "").split(", ");
}

it("every figure of docs/measured.json is in the table of figures of docs/promises.md", () => {
  const [, figures = ""] = read("docs/promises.md").split("\n## Figures\n");
  const rows = figures.match(/^\| .* \| .* \| .* \|$/gm) ?? [];
  expect(Object.keys(builds).filter((name) => !rows.join("\n").includes(name))).toEqual([]);
});

const copy = mkdtempSync(join(tmpdir(), "task-relay-core-"));
afterAll(() => rmSync(copy, { recursive: true }));

it("the hash that tells whether a figure was measured with the present code changes with the code on which the figure depends, but not with comments or tests", () => {
  const files = lifeFiles(ROOT);
  for (const path of files) {
    mkdirSync(dirname(join(copy, path)), { recursive: true });
    cpSync(join(ROOT, path), join(copy, path));
  }
  const hashes = () => [SIMULATED, REAL].map(presentHashes(copy));
  const present = [SIMULATED, REAL].map(presentHash);
  expect(hashes()).toEqual(present);
  const core = ["src/core/transition.ts", "src/objects/task/work-loop.ts"];
  const simulation = ["test/simulation/generator.ts", "test/simulation/worker.ts"];
  for (const path of [...core, ...simulation]) {
    expect(files).toContain(path);
    const text = readFileSync(join(copy, path), "utf8");
    writeFileSync(join(copy, path), `${text}\nexport const added = 1;\n`);
    const [simulated, real] = hashes();
    expect(simulated, path).not.toBe(present[0]);
    expect(real === present[1], path).toBe(simulation.includes(path));
    // The second comment stands before a member of a class, where the file has one.
    const commented = text.replace("\n  #", "\n  /** A comment. */\n  #");
    writeFileSync(join(copy, path), `// A comment.\n\n${commented}`);
    expect(hashes(), path).toEqual(present);
    writeFileSync(join(copy, path), text);
  }
  expect(files.filter((path) => /planted|\.test\.ts$/.test(path))).toEqual([]);
});

import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { filesOf, LISTS } from "../../scripts/providers-new/edits.ts";
import { type NewProvider, newProvider } from "../../scripts/providers-new/names.ts";

const ROOT = join(import.meta.dirname, "../..");
const WRITTEN = ["README.md", "src/providers/*/*.*", "src/providers/*/corpus/README.md"];
const read = (path: string) => readFileSync(join(ROOT, path), "utf8");

it("no adapter, example, page or corpus still has a placeholder that npm run providers:new has written", () => {
  const left = globSync(WRITTEN, { cwd: ROOT }).flatMap((path) => {
    const lines = read(path).split("\n").entries();
    return [...lines].flatMap(([i, line]) =>
      line.includes("MISSING:") ? [`${path}:${i + 1} ${line.trim()}`] : [],
    );
  });
  expect(left).toEqual([]);
});

it.each([
  ["with hooks", true, "nothing"],
  ["without hooks", false, "it sends none"],
])(
  "npm run providers:new --code writes the folder of a new provider %s, and adds the provider to every hand-written list",
  (_, hasHooks, proof) => {
    const provider: NewProvider = { name: "a-b", identifier: "aB", prefix: "A_B", hasHooks };
    const files = filesOf(provider, new Map(LISTS.map((path) => [path, read(path)])));
    const folder = "src/providers/a-b";
    const written = ["a-b.ts", "a-b.examples.ts", "README.md", "corpus/README.md"].map(
      (name) => `${folder}/${name}`,
    );
    expect([...files.keys()]).toEqual([...written, ...LISTS]);
    expect(files.get(`${folder}/README.md`)).toContain(`| hooks proved by | ${proof} |`);
    const added = LISTS.map((path) => {
      const before = read(path).split("\n");
      const after = files.get(path)?.split("\n") ?? [];
      return after.filter((line) => !before.includes(line));
    });
    expect(added).toEqual([
      ['import { aB } from "./a-b/a-b.ts";', "  aB,"],
      [expect.stringContaining(", `a-b`, and gateways: ")],
    ]);
  },
);

it.each(["Acme", "acme video", "-acme", "acme--video", "../acme", "ark", ""])(
  "npm run providers:new refuses the name %j for a provider",
  (name) => {
    expect(newProvider(name, true, ["ark"])).toMatchObject({ ok: false });
  },
);

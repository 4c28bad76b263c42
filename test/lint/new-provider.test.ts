import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { filesOf, LISTS } from "../../scripts/providers-new/edits.ts";
import { type NewProvider, newProvider } from "../../scripts/providers-new/names.ts";

const ROOT = join(import.meta.dirname, "../..");
const WRITTEN = ["README.md", "docs/providers.md", "src/providers/*/*.*"];
const read = (path: string) => readFileSync(join(ROOT, path), "utf8");

it("no adapter, example or page still has a placeholder that npm run providers:new has written", () => {
  const left = globSync(WRITTEN, { cwd: ROOT }).flatMap((path) => {
    const lines = read(path).split("\n").entries();
    return [...lines].flatMap(([i, line]) =>
      line.includes("MISSING:") ? [`${path}:${i + 1} ${line.trim()}`] : [],
    );
  });
  expect(left).toEqual([]);
});

it.each([
  ["with hooks", true, "by the poll that its hook causes"],
  ["without hooks", false, "by polls alone"],
])(
  "npm run providers:new --code adds a new provider %s to every list of providers in the repository",
  (_, hasHooks, finding) => {
    const provider: NewProvider = { name: "a-b", identifier: "aB", prefix: "A_B", hasHooks };
    const files = filesOf(provider, new Map(LISTS.map((path) => [path, read(path)])));
    const added = [...files].flatMap(([path, text]) => {
      const before = LISTS.some((list) => list === path) ? read(path).split("\n") : [];
      return text.split("\n").filter((line) => line.startsWith("|") && !before.includes(line));
    });
    expect(added).toEqual([
      `| \`a-b\` | ${finding} | nothing |`,
      "| `a-b` | nothing | | |",
      `| [\`a-b\`](#a-b) | \`A_B_API_KEY\`, \`A_B_BASE_URL\` | ${hasHooks ? "nothing" : "it sends none"} | key, job |`,
      "| `a-b` | not documented | not documented | not documented |",
    ]);
  },
);

it.each(["Acme", "acme video", "-acme", "acme--video", "../acme", "ark", ""])(
  "npm run providers:new refuses the name %j for a provider",
  (name) => {
    expect(newProvider(name, true, ["ark"])).toMatchObject({ ok: false });
  },
);

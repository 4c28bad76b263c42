// Records that figures were measured at the present commit: `npm run measured -- simulation chaos`.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { lifeFiles, presentHashes } from "./docs/core-hash.ts";
import { Builds } from "./docs/measured.ts";

const ROOT = join(import.meta.dirname, "..");
const FILE = join(ROOT, "docs/measured.json");
const git = (...args: string[]) =>
  execFileSync("git", args, { cwd: ROOT, encoding: "utf8" }).trim();

const builds = Builds.parse(JSON.parse(readFileSync(FILE, "utf8")));
const names = process.argv.slice(2);
const known = Object.keys(builds);
if (names.length === 0 || names.some((name) => !known.includes(name))) {
  console.error(`usage: npm run measured -- NAME…\nNames: ${known.join(", ")}`);
  process.exit(2);
}
if (git("status", "--porcelain", "--", ...lifeFiles(ROOT)) !== "") {
  console.error(
    "Core, loop or simulation have changes that no commit has: commit them and measure.",
  );
  process.exit(1);
}
const commit = git("rev-parse", "HEAD");
const hashOf = presentHashes(ROOT);
const measured = names.map((name) => [name, { commit, hash: hashOf(name) }]);
const recorded = { ...builds, ...Object.fromEntries(measured) };
writeFileSync(FILE, `${JSON.stringify(recorded, null, 2)}\n`);
console.log(
  `Recorded ${commit}. Write the figures into docs/promises.md and README.md, then: npm run docs`,
);

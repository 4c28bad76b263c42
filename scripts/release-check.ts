// Checks before a release is published that the tree is that of its tag: `npm run release:check -- v1.0.0`.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { releaseFaults } from "./release/faults.ts";

const read = (path: string) => readFileSync(join(import.meta.dirname, "..", path), "utf8");

const [tag, ...more] = process.argv.slice(2);
if (tag === undefined || more.length > 0) {
  console.error("Usage: npm run release:check -- v1.0.0");
  process.exit(2);
}
const faults = releaseFaults(tag, {
  manifest: JSON.parse(read("package.json")),
  clientManifest: JSON.parse(read("client/package.json")),
  pythonManifest: read("client-python/pyproject.toml"),
  changelog: read("CHANGELOG.md"),
});
for (const fault of faults) console.error(fault);
if (faults.length > 0) process.exit(1);
console.log(`The tree is that of ${tag}.`);

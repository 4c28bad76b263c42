// Checks before a release is published that the tree is that of its tag: `npm run release:check -- v1.0.0`. Without a
// tag it lists what the owner alone can do before the first release.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { releaseFaults } from "./release/faults.ts";
import { ownerSteps } from "./release/owner-steps.ts";

const read = (path: string) => readFileSync(join(import.meta.dirname, "..", path), "utf8");

const [tag, ...more] = process.argv.slice(2);
if (more.length > 0) {
  console.error("Usage: npm run release:check [-- v1.0.0]");
  process.exit(2);
}
if (tag === undefined) {
  console.log("What the owner does before the first release, in this order (docs/releasing.md):");
  for (const [index, { title, text }] of ownerSteps(read("docs/releasing.md")).entries()) {
    console.log(`\n${index + 1}. ${title}\n   ${text}`);
  }
  console.log("\nThen: npm run release:check -- v1.0.0");
  process.exit(0);
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

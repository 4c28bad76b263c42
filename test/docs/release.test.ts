import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { releaseFaults } from "../../scripts/release/faults.ts";
import { ownerSteps } from "../../scripts/release/owner-steps.ts";
import { ROOT } from "../process/harness/child.ts";

const READY = {
  manifest: { version: "1.2.0" },
  clientManifest: {
    version: "1.2.0",
    repository: { url: "git+https://github.com/acme/relay.git" },
  },
  pythonManifest: '[project]\nname = "task-relay"\nversion = "1.2.0"\n',
  changelog: "# Changelog\n\n## [Unreleased]\n\n## [1.2.0] - 2026-12-01\n\n### Added\n",
};

it("npm run release:check accepts a tag when package.json, both clients and the changelog have its version and the client's names its repository", () => {
  expect(releaseFaults("v1.2.0", READY)).toEqual([]);
});

it.each([
  ["1.2.0", READY, ["The tag 1.2.0 is not of the form v1.0.0."]],
  ["v1.2.0-rc.1", READY, ["The tag v1.2.0-rc.1 is not of the form v1.0.0."]],
  [
    "v1.2.1",
    READY,
    [
      "package.json has the version 1.2.0, not 1.2.1.",
      "client/package.json has the version 1.2.0, not 1.2.1.",
      "client-python/pyproject.toml has the version 1.2.0, not 1.2.1.",
      'CHANGELOG.md has no heading "## [1.2.1] - " with the date.',
    ],
  ],
  [
    "v1.2.0",
    { ...READY, changelog: "## [1x2.0] - 2026-12-01\n## [1.2.0]\n" },
    ['CHANGELOG.md has no heading "## [1.2.0] - " with the date.'],
  ],
  [
    "v1.2.0",
    { ...READY, clientManifest: { version: "1.2.0" } },
    [expect.stringContaining('set "repository" in package.json, then npm run docs')],
  ],
])("npm run release:check of the tag %s refuses the tree %j", (tag, files, faults) => {
  expect(releaseFaults(tag, files)).toEqual(faults);
});

it("npm run release:check without a tag lists the steps of docs/releasing.md before the first release, in order, each with what to do", () => {
  const steps = ownerSteps(readFileSync(join(ROOT, "docs/releasing.md"), "utf8"));
  expect(steps.map(({ title }) => title)).toEqual([
    "Public address",
    "CI",
    "Vulnerabilities",
    "Deploy button",
    "First deployment",
    "First day",
    "npm",
    "No token",
    "PyPI",
    "Image",
  ]);
  for (const { text } of steps) expect(text).toMatch(/^[A-Z`].*\.$/);
  expect(steps[0]?.text).toContain("the deploy button (deploy.md#deploy-button)");
});

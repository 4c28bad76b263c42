import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import * as z from "zod";
import { ROOT } from "../process/harness/child.ts";

const Package = z.object({ deprecated: z.string(), hasInstallScript: z.boolean() }).partial();
const Lock = z.object({ packages: z.record(z.string(), Package) });
const Manifest = z.object({ allowScripts: z.record(z.string(), z.boolean()) });
const read = (file: string): unknown => JSON.parse(readFileSync(join(ROOT, file), "utf8"));

it("npm ci prints no warning: package-lock.json has no deprecated package, and package.json allows or refuses each package's install script", () => {
  const packages = Object.entries(Lock.parse(read("package-lock.json")).packages);
  expect(packages.filter(([, { deprecated }]) => deprecated !== undefined)).toEqual([]);
  const withScript = packages.filter(([, { hasInstallScript }]) => hasInstallScript === true);
  const names = withScript.map(([path]) => path.replace(/^.*node_modules\//, ""));
  const { allowScripts } = Manifest.parse(read("package.json"));
  expect(names.toSorted()).toEqual(Object.keys(allowScripts).toSorted());
});

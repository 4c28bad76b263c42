import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { expect, it } from "vitest";
import { ROOT } from "../process/harness/child.ts";

const CLIENT = join(ROOT, "client");

it("the client and its dependencies are at most 7.5 KiB, minified and gzipped, as the client's README says", async () => {
  const { outputFiles } = await build({
    entryPoints: [join(CLIENT, "src/index.ts")],
    bundle: true,
    minify: true,
    format: "esm",
    write: false,
  });
  const bytes = gzipSync(outputFiles[0]?.contents ?? "", { level: 9 }).length;
  expect(bytes).toBeGreaterThan(4096);
  expect(bytes).toBeLessThanOrEqual(7.5 * 1024);
});

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import * as z from "zod";

const ENTRY = join(import.meta.dirname, "../../src/console/pages/docs/rendered.tsx");
const Module = z.object({
  renderedDocs: z.function({ output: z.promise(z.record(z.string(), z.string())) }),
});

/**
 * Renders the documentation pages of the console, by the names of their files. They are bundled first, because Node
 * runs no JSX.
 */
export async function consolePages(): Promise<Readonly<Record<string, string>>> {
  const directory = await mkdtemp(join(tmpdir(), "console-pages-"));
  try {
    const outfile = join(directory, "rendered.mjs");
    await build({
      entryPoints: [ENTRY],
      outfile,
      bundle: true,
      format: "esm",
      platform: "node",
      jsx: "automatic",
      jsxImportSource: "hono/jsx",
      logLevel: "error",
    });
    const bundled: unknown = await import(pathToFileURL(outfile).href);
    return await Module.parse(bundled).renderedDocs();
  } finally {
    await rm(directory, { recursive: true });
  }
}

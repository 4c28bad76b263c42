import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import * as z from "zod";

const Module = z.object({
  rendered: z.function({ output: z.promise(z.record(z.string(), z.string())) }),
});

/** Renders the documentation pages, by the names of their files. They are bundled first, because Node runs no JSX. */
export async function renderReference(): Promise<Readonly<Record<string, string>>> {
  const directory = await mkdtemp(join(tmpdir(), "task-relay-reference-"));
  try {
    const outfile = join(directory, "rendered.mjs");
    await build({
      entryPoints: [join(import.meta.dirname, "rendered.tsx")],
      outfile,
      bundle: true,
      format: "esm",
      platform: "node",
      jsx: "automatic",
      jsxImportSource: "hono/jsx",
      logLevel: "error",
    });
    const bundled: unknown = await import(pathToFileURL(outfile).href);
    return await Module.parse(bundled).rendered();
  } finally {
    await rm(directory, { recursive: true });
  }
}

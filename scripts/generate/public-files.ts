import { readdir, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import type { Product } from "./product.ts";

const ROOT = join(import.meta.dirname, "../..");
/** Folders with the files that pages load. */
const CLIENT_FOLDERS = ["src/console/client", "scripts/reference/client"];
const IDIOMORPH = "node_modules/idiomorph/dist/idiomorph.min.js";

/** The files of `public`, which are answered without the Worker: the reference, the API's description, what pages load. */
export const publicFiles: Product = {
  name: "public",
  sources: [
    "openapi.json",
    "package-lock.json",
    "scripts/reference",
    "src/console",
    "src/api/http",
    "src/core/time.ts",
    "src/lib/curl.ts",
  ],
  needs: ["node_modules/esbuild", "node_modules/zod", "node_modules/hono", IDIOMORPH],
  make: async () => {
    const { renderReference } = await import("../reference/render.ts");
    const { headersFile } = await import("./file-headers.ts");
    const openApi: unknown = JSON.parse(await readFile(join(ROOT, "openapi.json"), "utf8"));
    const files = {
      ...(await renderReference()),
      ...(await clientFiles()),
      "openapi.json": JSON.stringify(openApi),
      "assets/idiomorph.js": await readFile(join(ROOT, IDIOMORPH), "utf8"),
      _headers: headersFile(),
    };
    return Object.fromEntries(
      Object.entries(files).map(([path, text]) => [`public/${path}`, text]),
    );
  },
};

/** Returns the stylesheet and the scripts, by the names of their files. */
async function clientFiles(): Promise<Readonly<Record<string, string>>> {
  const folders = CLIENT_FOLDERS.map(async (folder) => {
    const names = await readdir(join(ROOT, folder));
    return names.filter((name) => /\.(?:css|js)$/.test(name)).map((name) => join(folder, name));
  });
  const paths = (await Promise.all(folders)).flat();
  const files = paths.map(
    async (path) => [`assets/${basename(path)}`, await readFile(join(ROOT, path), "utf8")] as const,
  );
  return Object.fromEntries(await Promise.all(files));
}

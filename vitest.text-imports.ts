import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Plugin } from "vitest/config";

/** Paths of the files that src/console imports as text. */
const TEXT =
  /\/console\/client\/[\w-]+\.(?:css|js)$|\/console\/docs\/\w+\.htm$|\/idiomorph\.min\.js$/;
const PREFIX = "\0text:";
const SUFFIX = ".text";

/**
 * Makes imports `with { type: "text" }` yield the text, as the bundler of the deployment does. Vite hands the
 * attribute to no plugin and ignores it: a stylesheet would be empty, a script of the browser would run.
 */
export function textImports(): Plugin {
  return {
    name: "text-imports",
    enforce: "pre",
    async resolveId(source, importer) {
      if (!/\.(?:css|htm|js)$/.test(source)) return null;
      const resolved = await this.resolve(source, importer, { skipSelf: true });
      if (resolved === null || !TEXT.test(resolved.id)) return null;
      // The end of the id keeps plugins away that work on files of this kind.
      return `${PREFIX}${resolved.id}${SUFFIX}`;
    },
    load(id) {
      if (!id.startsWith(PREFIX)) return null;
      const path = id.slice(PREFIX.length, -SUFFIX.length);
      const file = path.startsWith("file:") ? fileURLToPath(path) : path;
      return `export default ${JSON.stringify(readFileSync(file, "utf8"))};`;
    },
  };
}

import { join } from "node:path";
import { build, type Plugin } from "esbuild";
import { ROOT } from "../../test/process/harness/child.ts";

/** Replaces the console by one without pages. */
const withoutConsole: Plugin = {
  name: "without-console",
  setup(bundling) {
    bundling.onLoad({ filter: /\/src\/console\/console-pages\.ts$/ }, () => ({
      contents:
        "export const answerBrowser = () => new Response(null, { status: 404 });\nexport { answerBrowser as answerProblem };",
      loader: "js",
    }));
  },
};

/** Bundles the relay without its console, with the options of wrangler. */
export async function bundleWithoutConsole(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [join(ROOT, "src/index.ts")],
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    target: "es2024",
    conditions: ["workerd", "worker", "browser"],
    external: ["cloudflare:*"],
    logLevel: "error",
    plugins: [withoutConsole],
  });
  return outputFiles.map(({ text }) => text).join("");
}

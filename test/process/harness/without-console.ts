import { join } from "node:path";
import { build, type Plugin } from "esbuild";
import { ROOT } from "./child.ts";

/**
 * Modules that the relay imports only when somebody looks at it: the console, the description of the API, the
 * examination of received callbacks, the requests of past attempts, the overviews of problems, hosts and series,
 * the metrics, the details of its health, the export of ledgers, the listeners of accounts, and what answers
 * status tokens and streams of events.
 */
const LAZY = new RegExp(
  [
    "/console/index\\.tsx",
    "/openapi\\.json",
    "/security/doctor/examine\\.ts",
    "/accounts/entry-export\\.ts",
    "/tasks/(?:answer-token|attempt-request|task-events)\\.ts",
    "/search/read-(?:problems|hosts|series|metrics)\\.ts",
    "/account/(?:listeners|send-to-listeners)\\.ts",
    "/api/(?:connect-listener|health/details)\\.ts",
  ]
    .map((path) => `${path}$`)
    .join("|"),
);

/** Replaces the lazy modules by one that fails when it is evaluated. */
const withoutLazyModules: Plugin = {
  name: "without-lazy-modules",
  setup(bundling) {
    bundling.onLoad({ filter: LAZY }, () => ({
      contents: 'throw new Error("evaluated"); export const none = null;',
      loader: "js",
    }));
  },
};

/** Bundles the relay without its console and its description, with the options of wrangler. */
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
    plugins: [withoutLazyModules],
  });
  return outputFiles.map(({ text }) => text).join("");
}

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "../../..");
/** The command that makes generated files, which the tests' own command has made before. */
const BUILD = /^\[build\]\n(?:\w.*\n)+/m;
const INDEX_BINDING = /^\[\[d1_databases\]\]\n(?:\w.*\n)+/m;
const RATE_LIMITS = /^\[\[ratelimits\]\]\n(?:\w.*\n)+/gm;
/** The lines of the bucket for outputs, which are comments until `npm run setup -- --outputs`. */
const BUCKET = /^# (\[\[r2_buckets\]\])\n# (binding = .*)\n# (bucket_name = .*)$/m;

/** Bindings that a copy of `wrangler.toml` has. */
export interface CopiedBindings {
  readonly hasIndex: boolean;
  /** False removes the rate limits, which tests with many requests would reach. */
  readonly hasLimits: boolean;
  readonly hasOutputs: boolean;
}

/**
 * Writes a copy of `wrangler.toml` to `directory`, where no `.dev.vars` of the developer applies.
 * @returns the path of the copy.
 */
export function copyWranglerConfig(
  directory: string,
  { hasIndex, hasLimits, hasOutputs }: CopiedBindings,
): string {
  const main = JSON.stringify(join(ROOT, "src/index.ts"));
  let config = readFileSync(join(ROOT, "wrangler.toml"), "utf8")
    .replace(/^main = .*$/m, `main = ${main}`)
    .replace(BUILD, "")
    .replace(/^directory = "public"$/m, `directory = ${JSON.stringify(join(ROOT, "public"))}`);
  if (!hasIndex) config = config.replace(INDEX_BINDING, "");
  if (!hasLimits) config = config.replace(RATE_LIMITS, "");
  if (hasOutputs) config = config.replace(BUCKET, "$1\n$2\n$3");
  const path = join(directory, hasIndex ? "wrangler.toml" : "wrangler.unindexed.toml");
  writeFileSync(path, config);
  return path;
}

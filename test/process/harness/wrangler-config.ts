import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "../../..");

/**
 * Writes a copy of `wrangler.toml` to `directory`, where no `.dev.vars` of the developer applies.
 * @param hasIndex false removes the D1 binding.
 * @param hasLimits false removes the rate limits, which tests with many requests would reach.
 * @returns the path of the copy.
 */
export function copyWranglerConfig(
  directory: string,
  hasIndex: boolean,
  hasLimits = false,
): string {
  const main = JSON.stringify(join(ROOT, "src/index.ts"));
  const config = readFileSync(join(ROOT, "wrangler.toml"), "utf8").replace(
    /^main = .*$/m,
    `main = ${main}`,
  );
  const indexBinding = /^\[\[d1_databases\]\]\n(?:\w.*\n)+/m;
  const rateLimits = /^\[\[ratelimits\]\]\n(?:\w.*\n)+/gm;
  const path = join(directory, hasIndex ? "wrangler.toml" : "wrangler.unindexed.toml");
  const indexed = hasIndex ? config : config.replace(indexBinding, "");
  writeFileSync(path, hasLimits ? indexed : indexed.replace(rateLimits, ""));
  return path;
}

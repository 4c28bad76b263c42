// Examines a running relay. Used as `npm run doctor -- --url https://relay.example.com`.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { outputsBucketOf } from "./deploy/outputs-bucket.ts";
import { examine, NoRelay } from "./doctor/examine.ts";
import { lineOf } from "./doctor/finding.ts";
import { isLoopbackHost, keyFile, operatorKey } from "./doctor/operator-key.ts";
import { NoAnswer, Relay } from "./doctor/relay.ts";
import { type Environment, ENVIRONMENTS, isEnvironmentName } from "./environments.ts";
import { printHelp } from "./help.ts";

interface Options {
  readonly url: URL;
  /** URL of the receiver for the test callback; null when `--to` was not given. */
  readonly to: string | null;
  /** The deployment that `--env` names; null when it was not given. */
  readonly environment: Environment | null;
}

const USAGE =
  "Usage: npm run doctor -- --url https://relay.example.com [--env production|preview] [--to https://receiver]";
const EXIT = { healthy: 0, findings: 1, unreachable: 2 };

process.exitCode = await main();

async function main(): Promise<number> {
  const args = process.argv.slice(2);
  if (printHelp(args, USAGE)) return EXIT.healthy;
  const options = optionsOf(args);
  if (options === null) {
    console.error(USAGE);
    return EXIT.unreachable;
  }
  const { url, to, environment } = options;
  const isLocal = isLoopbackHost(url.hostname);
  const file = keyFile(environment, isLocal);
  const relay = new Relay(url.origin, operatorKey(file));
  const isPreview = environment?.name === "preview";
  const toml = readFileSync(join(import.meta.dirname, "../wrangler.toml"), "utf8");
  const bucket = outputsBucketOf(toml, environment ?? ENVIRONMENTS.production);
  try {
    const findings = await examine({ relay, url, isLocal, isPreview, keyFile: file, bucket, to });
    for (const finding of findings) console.log(lineOf(finding));
    const isHealthy = findings.every(({ kind }) => kind !== "problem");
    return isHealthy ? EXIT.healthy : EXIT.findings;
  } catch (error) {
    if (!(error instanceof NoRelay) && !(error instanceof NoAnswer)) throw error;
    console.error(error.message);
    return EXIT.unreachable;
  }
}

/** Reads the options of `npm run doctor` from the command line; null when they are wrong. */
function optionsOf(args: string[]): Options | null {
  try {
    const text = { type: "string" } as const;
    const { values } = parseArgs({ args, options: { url: text, to: text, env: text } });
    const { env = null, to = null } = values;
    const url = URL.parse(values.url ?? "");
    if (url === null || !/^https?:$/.test(url.protocol)) return null;
    if (env === null) return { url, to, environment: null };
    return isEnvironmentName(env) ? { url, to, environment: ENVIRONMENTS[env] } : null;
  } catch {
    return null;
  }
}

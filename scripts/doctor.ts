// Examines a running relay. Used as `npm run doctor -- --url https://relay.example.com [--to URL]`.
import { parseArgs } from "node:util";
import { examine, NoRelay } from "./doctor/examine.ts";
import { lineOf } from "./doctor/finding.ts";
import { operatorKey } from "./doctor/operator-key.ts";
import { NoAnswer, Relay } from "./doctor/relay.ts";

const USAGE = "Usage: npm run doctor -- --url https://relay.example.com [--to https://receiver]";
const EXIT = { healthy: 0, findings: 1, unreachable: 2 };

process.exitCode = await main();

async function main(): Promise<number> {
  const options = optionsOf(process.argv.slice(2));
  if (options === null) {
    console.error(USAGE);
    return EXIT.unreachable;
  }
  const { url, to } = options;
  const isLocal = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname);
  const relay = new Relay(url.origin, operatorKey(isLocal));
  try {
    const findings = await examine({ relay, url, isLocal, to });
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
function optionsOf(args: string[]): { readonly url: URL; readonly to: string | null } | null {
  try {
    const text = { type: "string" } as const;
    const { values } = parseArgs({ args, options: { url: text, to: text } });
    const url = URL.parse(values.url ?? "");
    return url === null || !/^https?:$/.test(url.protocol) ? null : { url, to: values.to ?? null };
  } catch {
    return null;
  }
}

import { parseArgs } from "node:util";
import { schemeOf } from "./keys.ts";
import type { ConformanceTarget } from "./run.ts";

export const USAGE =
  "Usage: npm run conformance -- --to https://client.example.com/hook --secret whsec_… [--progress] [--timeout-s 10]";

/** Error for a wrong command line; its message tells the person who has typed it what is wrong. */
export class WrongOption extends Error {}

const string = { type: "string" } as const;
const OPTIONS = {
  to: string,
  secret: string,
  progress: { type: "boolean", default: false },
  "timeout-s": { ...string, default: "10" },
} as const;

/** Reads the options of the command line. @throws WrongOption when they are wrong. */
export async function targetOf(args: string[]): Promise<ConformanceTarget> {
  const { to = "", secret = "", progress: hasProgress, "timeout-s": timeout } = parsed(args);
  const url = URL.parse(to);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new WrongOption("--to must be the http or https URL of a receiver.");
  }
  const scheme = await schemeOf(secret);
  // The text is not shown, because it may be a secret with a typing error.
  if (scheme === null) {
    throw new WrongOption(
      "--secret must be whsec_ and the base64 of 24 to 64 bytes, or a whsk_ key.",
    );
  }
  if (!/^(?:[1-9]|[1-5]\d|60)$/.test(timeout)) {
    throw new WrongOption("--timeout-s must be a whole number of seconds from 1 to 60.");
  }
  return { url, scheme, timeoutS: Number(timeout), hasProgress };
}

function parsed(args: string[]) {
  try {
    return parseArgs({ args, options: OPTIONS }).values;
  } catch {
    throw new WrongOption(USAGE);
  }
}

import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";

export const USAGE =
  "Usage: task-relay-client listen --to http://localhost:3000/cb [--relay https://relay.example.com] [--key-file FILE]";

export interface Settings {
  /** Receiver to which callbacks are passed on. */
  readonly to: URL;
  /** Origin of the relay. */
  readonly relay: string;
  /** API key of an account. */
  readonly key: string;
}

const OPTIONS = {
  to: { type: "string" },
  relay: { type: "string" },
  "key-file": { type: "string" },
  key: { type: "string" },
} as const;

/**
 * Reads the settings from the command line and the environment. When they are not valid, returns why as a sentence
 * (`fault`).
 */
export function settingsOf(
  args: string[],
  env: Readonly<Record<string, string | undefined>>,
): Settings | { readonly fault: string } {
  const given = parsed(args);
  if (given === null) return { fault: "The options are not valid." };
  const { to, relay = env["TASK_RELAY_URL"] ?? "http://localhost:8787", key } = given;
  if (key !== undefined) {
    return {
      fault: "Other users see the options of a program: set TASK_RELAY_KEY, or use --key-file.",
    };
  }
  const [receiver, origin] = [httpUrl(to), httpUrl(relay)];
  if (receiver === null) return { fault: "--to must be the http: or https: URL of your receiver." };
  if (origin === null) return { fault: "--relay must be the http: or https: URL of the relay." };
  const secret = keyOf(given["key-file"], env["TASK_RELAY_KEY"]);
  if (secret === null) return { fault: "The file of --key-file cannot be read." };
  if (secret === "") return { fault: "TASK_RELAY_KEY must be the API key of an account." };
  return { to: receiver, relay: origin.origin, key: secret };
}

function parsed(args: string[]) {
  try {
    const { values, positionals } = parseArgs({ args, options: OPTIONS, allowPositionals: true });
    return positionals.join(" ") === "listen" ? values : null;
  } catch {
    return null;
  }
}

function httpUrl(text: string | undefined): URL | null {
  const url = URL.canParse(text ?? "") ? new URL(text ?? "") : null;
  return url !== null && /^https?:$/.test(url.protocol) ? url : null;
}

/**
 * Reads the key from the file or, without a file, takes the key in the environment. Null when the file cannot be
 * read.
 */
function keyOf(file: string | undefined, variable: string | undefined): string | null {
  if (file === undefined) return (variable ?? "").trim();
  try {
    return readFileSync(file, "utf8").trim();
  } catch {
    return null;
  }
}

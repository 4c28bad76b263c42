import { parseArgs } from "node:util";
import { type Environment, ENVIRONMENTS, isEnvironmentName } from "../environments.ts";

/** Options of `npm run deploy:first`. */
export interface DeployOptions {
  readonly environment: Environment;
  /** URL of the receiver for the test callback; null when `--to` was not given. */
  readonly to: string | null;
  /** Address of the relay; null means the one that the deployment has. */
  readonly url: URL | null;
  /** Longest time in milliseconds that the command waits until the deployed relay is healthy. */
  readonly waitMs: number;
}

export const USAGE =
  "Usage: npm run deploy:first -- [--env production|preview] [--to https://receiver] [--url https://relay] [--wait SECONDS]";
const DEFAULT_WAIT_S = "180";

/** Reads the options from the command line; null when they are wrong. */
export function optionsOf(args: readonly string[]): DeployOptions | null {
  const values = parsed(args);
  if (values === null) return null;
  const { env, to = null, url, wait } = values;
  const address = url === undefined ? null : URL.parse(url);
  const isAddress = url === undefined || /^https?:$/.test(address?.protocol ?? "");
  const isReceiver = to === null || URL.canParse(to);
  if (!isEnvironmentName(env) || !isAddress || !isReceiver || !/^\d{1,4}$/.test(wait)) return null;
  return { environment: ENVIRONMENTS[env], to, url: address, waitMs: Number(wait) * 1000 };
}

function parsed(args: readonly string[]) {
  try {
    const text = { type: "string" } as const;
    const env = { ...text, default: "production" } as const;
    const wait = { ...text, default: DEFAULT_WAIT_S } as const;
    return parseArgs({ args: [...args], options: { env, wait, to: text, url: text } }).values;
  } catch {
    return null;
  }
}

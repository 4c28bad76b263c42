import { parseArgs } from "node:util";
import { isPort } from "../dev/port.ts";

export const USAGE =
  "Usage: npm run receive -- [--fail 2] [--hang | --status 500] [--port 3000] [--secret whsec_… | --account acme] [--relay http://localhost:8787]";

export interface ReceiveOptions {
  readonly port: number;
  /** Answer to the attempts that fail: a status code, or none at all. */
  readonly failure: number | "hang";
  /** Number of attempts of each callback that fail; infinite when all of them do. */
  readonly failures: number;
  /** Secret with which callbacks are verified; null means that the relay is asked. */
  readonly secret: string | null;
  /** Account whose callbacks come; null means callbacks of tasks without account. */
  readonly account: string | null;
  /** Origin of the relay. */
  readonly relay: string;
}

const string = { type: "string" } as const;
const OPTIONS = {
  fail: string,
  hang: { type: "boolean", default: false },
  status: string,
  port: { ...string, default: "3000" },
  secret: string,
  account: string,
  relay: { ...string, default: "http://localhost:8787" },
} as const;

/** Reads the options from the command line; null when they are wrong. */
export function optionsOf(args: string[]): ReceiveOptions | null {
  const values = parsed(args);
  if (values === null || !isValid(values)) return null;
  const { fail, hang, status, port, secret = null, account = null } = values;
  const always = hang || status !== undefined ? Infinity : 0;
  return {
    port: Number(port),
    failure: hang ? "hang" : Number(status ?? "500"),
    failures: fail === undefined ? always : Number(fail),
    secret,
    account,
    relay: new URL(values.relay).origin,
  };
}

type Values = NonNullable<ReturnType<typeof parsed>>;

function isValid({ fail = "0", hang, status, port, secret, account, relay }: Values): boolean {
  return [
    /^\d{1,6}$/.test(fail),
    isPort(port),
    isAbsentOr(status, /^[2-5]\d\d$/) && !(hang && status !== undefined),
    isAbsentOr(secret, /^whsec_[A-Za-z0-9+/]+=*$/) && [secret, account].includes(undefined),
    isAbsentOr(URL.parse(relay)?.protocol ?? "", /^https?:$/),
  ].every(Boolean);
}

function isAbsentOr(value: string | undefined, pattern: RegExp): boolean {
  return value === undefined || pattern.test(value);
}

function parsed(args: string[]) {
  try {
    return parseArgs({ args, options: OPTIONS }).values;
  } catch {
    return null;
  }
}

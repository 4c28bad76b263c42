import { parseArgs } from "node:util";
import { failure, type Result, success } from "../../src/core/result.ts";
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

/** Reads the options from the command line. The error is a sentence that names the wrong option. */
export function optionsOf(args: string[]): Result<ReceiveOptions, string> {
  const parsed = parsedOptions(args);
  if (!parsed.ok) return parsed;
  const values = parsed.value;
  const fault = faultIn(values);
  if (fault !== null) return failure(fault);
  const { fail, hang, status, port, secret = null, account = null } = values;
  const always = hang || status !== undefined ? Infinity : 0;
  return success({
    port: Number(port),
    failure: hang ? "hang" : Number(status ?? "500"),
    failures: fail === undefined ? always : Number(fail),
    secret,
    account,
    relay: new URL(values.relay).origin,
  });
}

function parsedOptions(args: string[]) {
  try {
    return success(parseArgs({ args, options: OPTIONS }).values);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    // Node adds sentences about other ways to write options.
    const [sentence = ""] = message.split(/\.?\n|\. |\.$/, 1);
    return failure(`${sentence}.`);
  }
}

type Values = Extract<ReturnType<typeof parsedOptions>, { ok: true }>["value"];

function faultIn({ fail, hang, status, port, secret, account, relay }: Values): string | null {
  if (!isAbsentOr(fail, /^\d{1,6}$/)) return "--fail must be a number of attempts.";
  if (!isPort(port)) return "--port must be a port.";
  if (!isAbsentOr(status, /^[2-5]\d\d$/)) return "--status must be from 200 to 599.";
  if (hang && status !== undefined) return "--hang and --status exclude each other.";
  if (!isAbsentOr(secret, /^whsec_[A-Za-z0-9+/]+=*$/)) {
    return "--secret must be whsec_ and base64, as in GET /v1/signing-secrets.";
  }
  if (secret !== undefined && account !== undefined) {
    return "--secret and --account exclude each other.";
  }
  return /^https?:$/.test(URL.parse(relay)?.protocol ?? "")
    ? null
    : "--relay must be an http or https URL.";
}

function isAbsentOr(value: string | undefined, pattern: RegExp): boolean {
  return value === undefined || pattern.test(value);
}

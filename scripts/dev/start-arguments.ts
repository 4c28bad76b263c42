import { parseArgs } from "node:util";
import { readKey } from "../setup/wrangler-toml.ts";
import { isPort, LOOPBACK } from "./port.ts";

/** Addresses that mean every address of this machine; wrangler prints loopback for them. */
const EVERY_ADDRESS: ReadonlySet<string> = new Set(["0.0.0.0", "::", "*"]);
const DEFAULT_PORT = "8787";

export interface Start {
  /** Arguments of `wrangler dev`. */
  readonly args: readonly string[];
  /** Address on which `wrangler dev` listens; null when it chooses a port itself. */
  readonly address: Address | null;
}

export interface Address {
  readonly port: number;
  /** IP addresses or names of this machine on which the port must be free. */
  readonly hosts: readonly string[];
  readonly origin: string;
}

/**
 * Returns the arguments with which `wrangler dev` listens on a known port, with which `PUBLIC_URL` is the address that
 * it prints, and with which a new task is listed after a second. A `PUBLIC_URL` or `INDEX_DELAY_S` among the arguments
 * or in `.dev.vars` is kept. No `PUBLIC_URL` is added where others reach the relay at an address that is not known in
 * advance: with a tunnel, on Cloudflare's network, and on the port 0.
 * @param args arguments of `npm start`.
 * @param files texts of `wrangler.toml`, whose table `[dev]` may set the address, and of `.dev.vars`.
 */
export function startArguments(
  args: readonly string[],
  { toml, devVars }: { readonly toml: string; readonly devVars: string },
): Start {
  const { values } = parseArgs({ args: [...args], options: OPTIONS, strict: false });
  const setting = (name: "ip" | "port" | "local-protocol") => {
    const value = values[name] ?? readKey(toml, name.replace("-", "_"));
    return typeof value === "string" ? value.replaceAll('"', "") : null;
  };
  const given = setting("port");
  const port = given ?? DEFAULT_PORT;
  if (!isPort(port)) return { args, address: null };
  const address = addressOf(
    port,
    setting("ip") ?? "localhost",
    setting("local-protocol") ?? "http",
  );
  // Without a given port, wrangler would choose another one when its default is taken.
  const listen = given === null ? ["--port", port] : [];
  const isElsewhere = values.tunnel === true || values.remote === true;
  const isGiven = (name: string) =>
    args.some((arg) => new RegExp(`^(?:--var=)?${name}:`).test(arg)) ||
    readKey(devVars, name) !== null;
  const isKept = isElsewhere || isGiven("PUBLIC_URL");
  const publicUrl = isKept ? [] : ["--var", `PUBLIC_URL:${address.origin}`];
  const delay = isGiven("INDEX_DELAY_S") ? [] : ["--var", "INDEX_DELAY_S:1"];
  return { args: [...args, ...listen, ...publicUrl, ...delay], address };
}

function addressOf(port: string, ip: string, protocol: string): Address {
  const host = EVERY_ADDRESS.has(ip) ? "127.0.0.1" : ip;
  const safeHost = host.includes(":") ? `[${host}]` : host;
  const hosts = ip === "localhost" ? LOOPBACK : [ip === "*" ? "0.0.0.0" : ip];
  return { port: Number(port), hosts, origin: `${protocol}://${safeHost}:${port}` };
}

const OPTIONS = {
  ip: { type: "string" },
  port: { type: "string" },
  "local-protocol": { type: "string" },
  tunnel: { type: "boolean" },
  remote: { type: "boolean", short: "r" },
} as const;

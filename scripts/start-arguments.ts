import { parseArgs } from "node:util";
import { readKey } from "./setup/wrangler-toml.ts";

/** Addresses that mean every address of this machine; wrangler prints loopback for them. */
const EVERY_ADDRESS: ReadonlySet<string> = new Set(["0.0.0.0", "::", "*"]);

/**
 * Returns the arguments with which `wrangler dev` listens on a known port and with which `PUBLIC_URL` is the
 * address that it prints. A `PUBLIC_URL` among the arguments or in `.dev.vars` is kept. No `PUBLIC_URL` is
 * added where the address is not known in advance: with a tunnel, on Cloudflare's network, and on the port 0.
 * @param args arguments of `npm start`.
 * @param files texts of `wrangler.toml`, whose table `[dev]` may set the address, and of `.dev.vars`.
 * @param freePort port for `wrangler dev` when neither the arguments nor `wrangler.toml` set one.
 */
export function startArguments(
  args: readonly string[],
  { toml, devVars }: { readonly toml: string; readonly devVars: string },
  freePort: number,
): readonly string[] {
  const { values } = parseArgs({ args: [...args], options: OPTIONS, strict: false });
  const setting = (name: "ip" | "port" | "local-protocol") => {
    const value = values[name] ?? readKey(toml, name.replace("-", "_"));
    return typeof value === "string" ? value.replaceAll('"', "") : null;
  };
  const port = setting("port");
  const isUnknown = values.tunnel === true || values.remote === true || port === "0";
  const isGiven = args.some((arg) => /^(?:--var=)?PUBLIC_URL:/.test(arg));
  if (isUnknown || isGiven || readKey(devVars, "PUBLIC_URL") !== null) return args;
  const ip = setting("ip") ?? "localhost";
  const host = EVERY_ADDRESS.has(ip) ? "127.0.0.1" : ip;
  const safeHost = host.includes(":") ? `[${host}]` : host;
  const origin = `${setting("local-protocol") ?? "http"}://${safeHost}:${port ?? freePort}`;
  const listen = port === null ? ["--port", String(freePort)] : [];
  return [...args, ...listen, "--var", `PUBLIC_URL:${origin}`];
}

const OPTIONS = {
  ip: { type: "string" },
  port: { type: "string" },
  "local-protocol": { type: "string" },
  tunnel: { type: "boolean" },
  remote: { type: "boolean", short: "r" },
} as const;

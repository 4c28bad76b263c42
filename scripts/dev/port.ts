import { once } from "node:events";
import { createServer } from "node:net";
import { parseArgs } from "node:util";

/** Addresses of this machine that the name `localhost` means. */
export const LOOPBACK: readonly string[] = ["127.0.0.1", "::1"];

/** Options of `npm run demo`. */
export interface DemoOptions {
  readonly port: number;
  /**
   * True with the option `--open`: at the end the script opens the console in a browser and keeps the relay running
   * until it is stopped, also where there is no terminal.
   */
  readonly opensConsole: boolean;
}

/**
 * Reads the options `--port`, by default 8787, and `--open`; ends the process with exit code 1 and one line
 * when the arguments are wrong.
 */
export function readDemoOptions(args: string[]): DemoOptions {
  try {
    const options = {
      port: { type: "string", default: "8787" },
      open: { type: "boolean", default: false },
    } as const;
    const { port, open } = parseArgs({ args, options }).values;
    if (isPort(port)) return { port: Number(port), opensConsole: open };
  } catch {
    // `parseArgs` throws when the arguments are wrong.
  }
  console.error("The options are --port, with a number from 1 to 65535, and --open.");
  return process.exit(1);
}

/** Tells whether a text is the number of a port. */
export function isPort(text: string): boolean {
  return /^\d{1,5}$/.test(text) && Number(text) > 0 && Number(text) < 65_536;
}

/**
 * Ends the process with exit code 1 and one line when another process listens on the port.
 * @param cure advice, which is the rest of the line.
 */
export async function requireFreePort(
  port: number,
  hosts: readonly string[],
  cure: string,
): Promise<void> {
  for (const host of hosts) {
    const code = await errorOfListening(port, host);
    // A machine without IPv6 lacks one of the addresses; no process can listen on it there.
    if (code === null || code === "EADDRNOTAVAIL" || code === "EAFNOSUPPORT") continue;
    console.error(`Port ${port} of ${host} is ${code === "EADDRINUSE" ? "taken" : code}: ${cure}.`);
    process.exit(1);
  }
}

/** Listens for a moment; returns the code of the error that prevents this, or null when it succeeds. */
async function errorOfListening(port: number, host: string): Promise<string | null> {
  const server = createServer().listen(port, host);
  try {
    await once(server, "listening");
  } catch (error) {
    return error instanceof Error && "code" in error ? String(error.code) : "unusable";
  }
  server.close();
  await once(server, "close");
  return null;
}

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";

/** A public address under which a server on this machine is reached. */
export interface Tunnel extends AsyncDisposable {
  readonly url: string;
}

/** Address that `cloudflared` prints once Cloudflare has assigned it. */
const ADDRESS = /https:\/\/[a-z0-9-]+\.trycloudflare\.com/;
const OPEN_WITHIN_MS = 30_000;

/**
 * Opens a quick tunnel, which needs no account, from a public address to a port of this machine.
 * @param command the program `cloudflared`.
 * @returns null when there is no such program, or Cloudflare assigns no address.
 */
export async function openTunnel(command: string, port: number): Promise<Tunnel | null> {
  const args = ["tunnel", "--no-autoupdate", "--url", `http://127.0.0.1:${port}`];
  const child = spawn(command, args, { stdio: ["ignore", "ignore", "pipe"] });
  const ended = new Promise<void>((resolve) => {
    child.once("error", () => resolve());
    child.once("close", () => resolve());
  });
  const close = async () => {
    child.kill("SIGKILL");
    await ended;
  };
  const url = await addressOf(child, ended);
  if (url !== null) return { url, [Symbol.asyncDispose]: close };
  await close();
  return null;
}

/** Waits until the program prints an address; null when it ends before, or takes too long. */
async function addressOf(child: ChildProcess, ended: Promise<void>): Promise<string | null> {
  const { stderr } = child;
  if (stderr === null) return null;
  let output = "";
  const aborter = new AbortController();
  const timer = setTimeout(() => aborter.abort(), OPEN_WITHIN_MS);
  void ended.then(() => aborter.abort());
  stderr.setEncoding("utf8");
  try {
    for (;;) {
      const [text]: unknown[] = await once(stderr, "data", { signal: aborter.signal });
      output += String(text);
      const found = ADDRESS.exec(output);
      if (found !== null) return found[0];
    }
  } catch {
    return null;
  } finally {
    clearTimeout(timer);
    // Otherwise a full pipe would stop the program.
    stderr.resume();
  }
}

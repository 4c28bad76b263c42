import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "./free-port.ts";

const root = join(import.meta.dirname, "..");

/**
 * A relay that `wrangler dev` runs on a port of this machine, in its own process group and with its own
 * storage.
 */
export interface DevRelay {
  readonly origin: string;
  /** Stops the relay and deletes its storage. */
  readonly stop: () => void;
}

/**
 * Starts the relay and waits until it answers.
 * @param vars variables that override `wrangler.toml` and `.dev.vars`.
 * @throws with the output of wrangler when the relay does not come up within a minute.
 */
export async function startDevRelay(
  vars: Readonly<Record<string, string>>,
  preferredPort: number,
): Promise<DevRelay> {
  const directory = mkdtempSync(join(tmpdir(), "task-relay-"));
  const port = await freePort(preferredPort);
  const origin = `http://127.0.0.1:${port}`;
  const flags = Object.entries(vars).flatMap(([name, value]) => ["--var", `${name}:${value}`]);
  const address = ["--ip", "127.0.0.1", "--port", String(port), "--inspector-port", "0"];
  const child = spawn(
    join(root, "node_modules/.bin/wrangler"),
    ["dev", "-c", "wrangler.toml", "--persist-to", directory, ...address, ...flags],
    { cwd: root, detached: true, env: { ...process.env, WRANGLER_SEND_METRICS: "false" } },
  );
  const stop = () => {
    killGroup(child);
    rmSync(directory, { recursive: true, force: true });
  };
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()));
  try {
    await waitUntilHealthy(child, `${origin}/healthz`);
  } catch (error) {
    stop();
    throw new Error(`the relay did not start:\n${output}`, { cause: error });
  }
  return { origin, stop };
}

async function waitUntilHealthy(child: ChildProcess, url: string): Promise<void> {
  for (let waitedMs = 0; waitedMs < 60_000; waitedMs += 200) {
    if (child.exitCode !== null) throw new Error(`wrangler ended with ${child.exitCode}`);
    const response = await fetch(url).catch(() => null);
    if (response?.ok === true) return;
    await sleep(200);
  }
  throw new Error(`${url} did not answer`);
}

/** Kills the process group of wrangler, to which the Workers runtime that it started belongs. */
function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {
    // The process group has exited already.
  }
}

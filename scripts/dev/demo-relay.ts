import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isAnsweringSoon } from "./summary.ts";
import { startWrangler, type WranglerDev } from "./wrangler-dev.ts";

/** Variables that override `wrangler.toml` and `.dev.vars`. */
type Vars = Readonly<Record<string, string>>;

/** A relay that `wrangler dev` runs on a port of this machine with storage of its own. */
export interface DemoRelay {
  readonly origin: string;
  /** Stops the relay in the middle of its work, and starts it on the same storage with these variables. */
  readonly restart: (vars: Vars) => Promise<void>;
  /** Stops the relay and deletes its storage. */
  readonly stop: () => Promise<void>;
}

/**
 * Starts the relay and waits until it answers.
 * @throws with the output of wrangler when the relay does not come up within a minute.
 */
export async function startDemoRelay(vars: Vars, port: number): Promise<DemoRelay> {
  const directory = mkdtempSync(join(tmpdir(), "task-relay-"));
  const erase = () => rmSync(directory, { recursive: true, force: true });
  const origin = `http://127.0.0.1:${port}`;
  let wrangler = await started(vars, port, { directory, origin });
  return {
    origin,
    restart: async (changed) => {
      // Nothing else deletes the storage when this process is told to end now.
      process.once("exit", erase);
      await wrangler.stop({ keepsDirectory: true });
      process.off("exit", erase);
      wrangler = await started(changed, port, { directory, origin });
    },
    stop: () => wrangler.stop(),
  };
}

async function started(
  vars: Vars,
  port: number,
  { directory, origin }: { readonly directory: string; readonly origin: string },
): Promise<WranglerDev> {
  const flags = Object.entries(vars).flatMap(([name, value]) => ["--var", `${name}:${value}`]);
  const address = ["--ip", "127.0.0.1", "--port", String(port), "--inspector-port", "0"];
  const args = ["--persist-to", directory, ...address, ...flags];
  const wrangler = startWrangler(args, "pipe", directory);
  const { child, stop } = wrangler;
  let output = "";
  child.stdout?.on("data", (chunk: Buffer) => (output += chunk.toString()));
  child.stderr?.on("data", (chunk: Buffer) => (output += chunk.toString()));
  if (await isAnsweringSoon(child, origin)) return wrangler;
  await stop();
  throw new Error(`the relay did not start:\n${output}`);
}

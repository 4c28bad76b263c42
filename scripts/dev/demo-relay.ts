import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isAnsweringSoon } from "./summary.ts";
import { startWrangler } from "./wrangler-dev.ts";

/** A relay that `wrangler dev` runs on a port of this machine with storage of its own. */
export interface DemoRelay {
  readonly origin: string;
  /** Stops the relay and deletes its storage. */
  readonly stop: () => Promise<void>;
}

/**
 * Starts the relay and waits until it answers.
 * @param vars variables that override `wrangler.toml` and `.dev.vars`.
 * @throws with the output of wrangler when the relay does not come up within a minute.
 */
export async function startDemoRelay(
  vars: Readonly<Record<string, string>>,
  port: number,
): Promise<DemoRelay> {
  const directory = mkdtempSync(join(tmpdir(), "task-relay-"));
  const origin = `http://127.0.0.1:${port}`;
  const flags = Object.entries(vars).flatMap(([name, value]) => ["--var", `${name}:${value}`]);
  const address = ["--ip", "127.0.0.1", "--port", String(port), "--inspector-port", "0"];
  const args = ["--persist-to", directory, ...address, ...flags];
  const { child, stop } = startWrangler(args, "pipe", directory);
  let output = "";
  child.stdout?.on("data", (chunk: Buffer) => (output += chunk.toString()));
  child.stderr?.on("data", (chunk: Buffer) => (output += chunk.toString()));
  if (await isAnsweringSoon(child, origin)) return { origin, stop };
  await stop();
  throw new Error(`the relay did not start:\n${output}`);
}

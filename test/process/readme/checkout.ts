import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

export const PROJECT = join(import.meta.dirname, "../../..");

/** A fresh clone of the working tree as it would be committed: nothing ignored, nothing installed. */
export interface Checkout {
  readonly directory: string;
  /** Runs a shell command in it. @throws with its output when it fails. */
  readonly run: (command: string) => string;
  readonly remove: () => void;
}

export function freshCheckout(): Checkout {
  const directory = mkdtempSync(join(tmpdir(), "task-relay-clone-"));
  const listed = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
  const files = execFileSync("git", listed, { cwd: PROJECT, encoding: "utf8" }).split("\0");
  for (const file of files.filter((name) => name !== "")) {
    mkdirSync(dirname(join(directory, file)), { recursive: true });
    cpSync(join(PROJECT, file), join(directory, file));
  }
  const run = (command: string) => runIn(directory, command);
  run("git init -q && git add -A");
  run("git -c user.name=test -c user.email=test@localhost commit -qm clone");
  return { directory, run, remove: () => rmSync(directory, { recursive: true, force: true }) };
}

function runIn(cwd: string, command: string): string {
  const options = { cwd, encoding: "utf8", timeout: 240_000, env: newcomersEnvironment() } as const;
  const { status, stdout, stderr } = spawnSync(
    "bash",
    ["-euo", "pipefail", "-c", command],
    options,
  );
  if (status === 0) return stdout;
  throw new Error(`${command}\nended with ${status}\n${stdout}\n${stderr}`);
}

/** Without what the scripts of this checkout have put in front of the newcomer's own Node. */
function newcomersEnvironment(): NodeJS.ProcessEnv {
  const path = (process.env["PATH"] ?? "")
    .split(":")
    .filter((dir) => !dir.includes("node_modules"));
  const kept = Object.entries(process.env).filter(([name]) => !/^(npm_|VITEST|NODE_)/i.test(name));
  return { ...Object.fromEntries(kept), PATH: path.join(":"), WRANGLER_SEND_METRICS: "false" };
}

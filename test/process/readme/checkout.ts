import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { ROOT } from "../harness/child.ts";

const TIMEOUT_MS = 120_000;

/** A clone of the working tree as it would be committed, with links to the installed packages. */
export class Checkout implements Disposable {
  readonly directory = mkdtempSync(join(tmpdir(), "task-relay-clone-"));

  constructor() {
    const listed = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    const files = execFileSync("git", listed, { cwd: ROOT, encoding: "utf8" }).split("\0");
    for (const file of files.filter((name) => name !== "")) {
      mkdirSync(dirname(join(this.directory, file)), { recursive: true });
      cpSync(join(ROOT, file), join(this.directory, file));
    }
    for (const workspace of ["", "client"]) this.#linkModules(join(workspace, "node_modules"));
    this.run("git init -q && git add -A");
    this.run("git -c user.name=test -c user.email=test@localhost commit -qm clone");
  }

  #linkModules(path: string): void {
    const modules = join(this.directory, path);
    mkdirSync(modules);
    for (const name of readdirSync(join(ROOT, path))) {
      if (!name.startsWith(".v")) symlinkSync(join(ROOT, path, name), join(modules, name));
    }
  }

  /** Runs a shell command and returns its output. @throws with the output when it fails. */
  run(command: string, env = newcomersEnvironment()): string {
    const args = ["-euo", "pipefail", "-c", command];
    const options = { cwd: this.directory, env, timeout: TIMEOUT_MS };
    const { status, stdout, stderr } = spawnSync("bash", args, { ...options, encoding: "utf8" });
    if (status === 0) return stdout;
    throw new Error(`${command}\nended with ${status}\n${stdout}\n${stderr}`);
  }

  [Symbol.dispose](): void {
    rmSync(this.directory, { recursive: true, force: true });
  }
}

/** Returns the environment without the variables that npm and Vitest have added. */
export function newcomersEnvironment(): NodeJS.ProcessEnv {
  const path = (process.env["PATH"] ?? "")
    .split(":")
    .filter((dir) => !dir.includes("node_modules"));
  const kept = Object.entries(process.env).filter(([name]) => !/^(npm_|VITEST|NODE_)/i.test(name));
  return { ...Object.fromEntries(kept), PATH: path.join(":"), WRANGLER_SEND_METRICS: "false" };
}

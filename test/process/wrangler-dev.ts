import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Child, freePort, QUIET_ENV, WRANGLER } from "./child.ts";
import type { Vars } from "./workerd.ts";

/** `wrangler dev` as a newcomer runs it, on ports and a storage directory of its own. */
export class WranglerDev {
  readonly url: string;
  /** Directory of the task objects' files. */
  readonly storage: string;
  readonly #home: string;
  readonly #child: Child;

  private constructor(home: string, port: number, child: Child) {
    this.#home = home;
    this.#child = child;
    this.url = `http://127.0.0.1:${port}`;
    this.storage = join(home, "v3/do/task-relay-TaskObject");
  }

  static async start(vars: Vars): Promise<WranglerDev> {
    const home = await mkdtemp(join(tmpdir(), "task-relay-dev-"));
    const [port, inspectorPort] = [await freePort(), await freePort()];
    const ports = ["--port", String(port), "--inspector-port", String(inspectorPort)];
    const args = [WRANGLER, "dev", "-c", "wrangler.toml", "--ip", "127.0.0.1", ...ports];
    const settings = Object.entries(vars).flatMap(([name, text]) => ["--var", `${name}:${text}`]);
    args.push("--persist-to", home, ...settings);
    const env = { ...QUIET_ENV, WRANGLER_REGISTRY_PATH: join(home, "registry") };
    const dev = new WranglerDev(home, port, new Child(process.execPath, args, env));
    try {
      await dev.#child.answering(`${dev.url}/healthz`);
    } catch (error) {
      await dev.stop();
      throw error;
    }
    return dev;
  }

  async stop(): Promise<void> {
    await this.#child.kill9();
    await rm(this.#home, { recursive: true, force: true });
  }
}

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Child } from "../harness/child.ts";
import { freePort } from "../harness/loopback.ts";
import { workerdPath } from "../../../scripts/self-host/release.ts";

/** A Worker with all its modules in one script, on released workerd. It can call every server. */
export class BundledWorker implements AsyncDisposable {
  readonly url: string;
  readonly #child: Child;

  private constructor(url: string, child: Child) {
    this.url = url;
    this.#child = child;
  }

  /** Starts the Worker. @param directory directory in which its files are written. */
  static async start(
    directory: string,
    script: string,
    compatibilityDate: string,
  ): Promise<BundledWorker> {
    const port = await freePort();
    const home = join(directory, String(port));
    await mkdir(home);
    await writeFile(join(home, "worker.js"), script);
    const config = join(home, "config.capnp");
    await writeFile(config, configOf(port, compatibilityDate));
    const child = new Child(workerdPath, ["serve", config], process.env);
    const url = `http://127.0.0.1:${port}`;
    await child.answering(url);
    return new BundledWorker(url, child);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#child.kill9();
  }
}

function configOf(port: number, compatibilityDate: string): string {
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "worker", worker = .worker),
    (name = "network", network = (allow = ["public", "private"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "worker")],
);
const worker :Workerd.Worker = (
  modules = [(name = "worker.js", esModule = embed "worker.js")],
  compatibilityDate = "${compatibilityDate}",
  globalOutbound = "network",
);
`;
}

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Child } from "../harness/child.ts";
import type { DocumentedWorker } from "../harness/documented-worker.ts";
import { freePort } from "../harness/loopback.ts";
import { type Vars, workerdBinary } from "../harness/workerd.ts";

type BundledWorker = Pick<DocumentedWorker, "directory" | "script" | "compatibilityDate">;

/** A Worker in front of the relay, such as that of docs/new-api.md, on released workerd. */
export class FrontWorker implements AsyncDisposable {
  readonly url: string;
  readonly #child: Child;

  private constructor(url: string, child: Child) {
    this.url = url;
    this.#child = child;
  }

  /**
   * Starts the Worker.
   * @param relay address of the relay for the binding `RELAY`, when the only other server that the Worker can
   * call is the `gateway`; null binds nothing and lets it call every server.
   */
  static async start(
    { directory, script, compatibilityDate }: BundledWorker,
    vars: Vars,
    relay: string | null,
    gateway: string,
  ): Promise<FrontWorker> {
    const port = await freePort();
    const home = join(directory, String(port));
    await mkdir(home);
    await writeFile(join(home, "front.js"), script);
    const config = join(home, "config.capnp");
    await writeFile(config, configOf(vars, port, relay, gateway, compatibilityDate));
    const child = new Child(workerdBinary, ["serve", config], process.env);
    const url = `http://127.0.0.1:${port}`;
    await child.answering(url);
    return new FrontWorker(url, child);
  }

  get output(): string {
    return this.#child.output;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#child.kill9();
  }
}

function external(name: string, url: string): string {
  return `(name = "${name}", external = (address = "${new URL(url).host}", http = ())),`;
}

function configOf(
  vars: Vars,
  port: number,
  relay: string | null,
  gateway: string,
  compatibilityDate: string,
): string {
  const texts = Object.entries(vars).map(
    ([name, text]) => `(name = "${name}", text = ${JSON.stringify(text)}),`,
  );
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "front", worker = .front),
    (name = "network", network = (allow = ["public", "private"])),
    ${external("gateway", gateway)}
    ${relay === null ? "" : external("relay", relay)}
  ],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "front")],
);
const front :Workerd.Worker = (
  modules = [(name = "front.js", esModule = embed "front.js")],
  compatibilityDate = "${compatibilityDate}",
  globalOutbound = "${relay === null ? "network" : "gateway"}",
  bindings = [
    ${relay === null ? "" : '(name = "RELAY", service = "relay"),'}
    ${texts.join("\n    ")}
  ],
);
`;
}

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Child, QUIET_ENV, WRANGLER } from "./child.ts";
import { freePort } from "./loopback.ts";
import { Client } from "./client.ts";
import type { Vars } from "./workerd.ts";
import { copyWranglerConfig } from "./wrangler-config.ts";

interface WranglerDevOptions {
  /** Variables, or a function that returns them for the URL of the relay. */
  readonly vars: Vars | ((url: string) => Vars);
  /** Path of a configuration other than the relay's own. */
  readonly config?: string;
  /** States that the relay's own configuration keeps its D1 binding, which is the default. */
  readonly hasIndex?: boolean;
  /** States that the relay's own configuration keeps its rate limits, which it does not by default. */
  readonly hasLimits?: boolean;
  /** States that the relay's own configuration has its bucket for outputs, which it does not by default. */
  readonly hasOutputs?: boolean;
  /** Directory of its temporary directory, by default the system's. */
  readonly parent?: string;
}

/** `wrangler dev` with D1, on ports and a storage directory of its own; the storage survives `kill9`. */
export class WranglerDev implements AsyncDisposable {
  readonly url: string;
  readonly client: Client;
  /** Directory of the task objects' files. */
  readonly storage: string;
  /** Directory of the buckets' files. */
  readonly buckets: string;
  /** Port of the inspector of the Worker. */
  readonly inspectorPort: number;
  readonly #home: string;
  readonly #args: readonly string[];
  #child: Child | null = null;

  private constructor(home: string, port: number, inspectorPort: number, args: readonly string[]) {
    this.#home = home;
    this.#args = args;
    this.inspectorPort = inspectorPort;
    this.url = `http://127.0.0.1:${port}`;
    this.client = new Client(this);
    this.storage = join(home, "v3/do/task-relay-TaskObject");
    this.buckets = join(home, "v3/r2");
  }

  static async start(options: WranglerDevOptions): Promise<WranglerDev> {
    const { vars, hasIndex = true, hasLimits = false, parent = tmpdir() } = options;
    const home = await mkdtemp(join(parent, "task-relay-dev-"));
    const bindings = { hasIndex, hasLimits, hasOutputs: options.hasOutputs ?? false };
    const config = options.config ?? copyWranglerConfig(home, bindings);
    const [port, inspectorPort] = [await freePort(), await freePort()];
    const ports = ["--port", String(port), "--inspector-port", String(inspectorPort)];
    const known = typeof vars === "function" ? vars(`http://127.0.0.1:${port}`) : vars;
    const settings = Object.entries(known).flatMap(([name, text]) => ["--var", `${name}:${text}`]);
    const args = [WRANGLER, "dev", "-c", config, "--ip", "127.0.0.1", ...ports];
    const relay = new WranglerDev(home, port, inspectorPort, [
      ...args,
      "--persist-to",
      home,
      ...settings,
    ]);
    try {
      await relay.restart();
    } catch (error) {
      await relay[Symbol.asyncDispose]();
      throw error;
    }
    return relay;
  }

  /** Id of wrangler's process. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  async kill9(): Promise<void> {
    await this.#child?.kill9();
    this.#child = null;
  }

  /** Starts new processes on the same storage and port. */
  async restart(): Promise<void> {
    await this.kill9();
    const env = { ...QUIET_ENV, WRANGLER_REGISTRY_PATH: join(this.#home, "registry") };
    this.#child = new Child(process.execPath, this.#args, env);
    await this.#child.answering(`${this.url}/healthz`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill9();
    await rm(this.#home, { recursive: true, force: true });
  }
}

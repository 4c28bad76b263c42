import {
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { writeRelease } from "../../../scripts/self-host/release.ts";
import { Child, ROOT } from "../harness/child.ts";
import { LOCAL_VARS } from "../harness/client.ts";
import { freePort } from "../harness/loopback.ts";
import { bundleOf, type Vars } from "../harness/workerd.ts";
import { StoreFront } from "./store-front.ts";

const STORE_KEYS = {
  ROOT_ACCESS_KEY_ID: "process-test-store",
  ROOT_SECRET_ACCESS_KEY: "process-test-store-key",
};
/** Longest time in milliseconds until a node that starts or was killed has its objects again. */
const TAKEN_OVER_WITHIN_MS = 60_000;

export interface ClusterOptions {
  /** Further variables of all nodes. */
  readonly vars?: Vars;
  /** False to leave out the proxy, and with it `url`; true by default. */
  readonly hasProxy?: boolean;
  /** Directory of its temporary directory, by default the system's. */
  readonly parent?: string;
}

/** A relay on several processes of workerd as docs/cluster.md describes it, on ports of this machine. */
export class Cluster implements AsyncDisposable {
  readonly nodes: readonly Node[];
  /** Through it the nodes reach the store. */
  readonly storeFront: StoreFront;
  readonly #home: string;
  readonly #storePort: number;
  readonly #proxyPort: number;
  #store: Child | null = null;
  #proxy: Child | null = null;

  private constructor(home: string, ports: readonly number[], storeFront: StoreFront, vars: Vars) {
    const [storePort = 0, proxyPort = 0, ...others] = ports;
    this.#home = home;
    this.#storePort = storePort;
    this.#proxyPort = proxyPort;
    this.storeFront = storeFront;
    const half = others.length / 2;
    const own = { ...this.storeAccess, ...vars };
    this.nodes = others
      .slice(0, half)
      .map((port, i) => new Node(home, i + 1, port, others[half + i] ?? 0, own));
  }

  /** Writes the files of a cluster, starts its store, its nodes and its proxy. */
  static async start(
    count: number,
    { vars = {}, hasProxy = true, parent = tmpdir() }: ClusterOptions = {},
  ): Promise<Cluster> {
    const home = mkdtempSync(join(parent, "task-relay-cluster-"));
    const ports: number[] = [];
    while (ports.length < 2 + 2 * count) ports.push(await freePort());
    const storeFront = await StoreFront.start(ports[0] ?? 0);
    const cluster = new Cluster(home, ports, storeFront, vars);
    try {
      writeFileSync(join(home, "index.js"), (await bundleOf()).script);
      writeRelease(join(home, "task-relay"), join(home, "index.js"));
      mkdirSync(join(home, "site"));
      const networks = `const networks :List(Text) = ["public", "127.0.0.1/32"];\n`;
      writeFileSync(join(home, "site/allow.capnp"), networks);
      writeFileSync(join(home, "site/cluster-bucket"), "s3://task-relay/cluster");
      writeFileSync(join(home, "site/cluster-key"), "process-test-cluster-key-0123456789abcdef");
      mkdirSync(join(home, "store/task-relay"), { recursive: true });
      await cluster.startStore();
      for (const node of cluster.nodes) await node.start();
      if (hasProxy) await cluster.#startProxy();
    } catch (error) {
      await cluster[Symbol.asyncDispose]();
      throw error;
    }
    return cluster;
  }

  /** Address of the proxy. */
  get url(): string {
    return `http://127.0.0.1:${this.#proxyPort}`;
  }

  /** Variables with which workerd reaches the bucket. */
  get storeAccess(): Vars {
    return {
      AWS_ENDPOINT_URL: this.storeFront.origin,
      AWS_REGION: "us-east-1",
      AWS_ACCESS_KEY_ID: STORE_KEYS.ROOT_ACCESS_KEY_ID,
      AWS_SECRET_ACCESS_KEY: STORE_KEYS.ROOT_SECRET_ACCESS_KEY,
    };
  }

  async startStore(): Promise<void> {
    const listen = ["--port", `127.0.0.1:${this.#storePort}`, "--region", "us-east-1", "--quiet"];
    const args = [...listen, "posix", join(this.#home, "store")];
    this.#store = new Child("versitygw", args, { ...process.env, ...STORE_KEYS });
    await this.#store.listening(this.#storePort);
  }

  /** Holds all requests of the store, or lets them go on. */
  signalStore(signal: "SIGSTOP" | "SIGCONT"): void {
    this.#store?.signal(signal);
  }

  /**
   * Returns the number of alarms that are due between `lateMs` milliseconds ago and `aheadMs` from now; null when it cannot
   * be read now. Leaves out those of the index, and those that were set longer ahead. The keys of alarms contain the time in
   * hexadecimal Unix milliseconds, and their objects in the bucket the name of who is woken.
   */
  nearAlarms(lateMs: number, aheadMs: number): number | null {
    const alarms = join(this.#home, "store/task-relay/cluster/v1/alarms");
    const now = Date.now();
    const isNear = (key: string) => {
      const at = Number.parseInt(key.split("/")[1]?.slice(1) ?? "", 16);
      if (at < now - lateMs || at > now + aheadMs) return false;
      const file = join(alarms, key);
      return (
        at - statSync(file).mtimeMs <= aheadMs && !readFileSync(file, "latin1").includes("index")
      );
    };
    try {
      return globSync("*/k*/*/*/*", { cwd: alarms }).filter(isNear).length;
    } catch {
      // An alarm is being deleted at this moment.
      return null;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of [this.#proxy, ...this.nodes, this.#store]) await child?.kill9();
    this.storeFront[Symbol.dispose]();
    rmSync(this.#home, { recursive: true, force: true });
  }

  /** Starts the proxy with `ops/haproxy.cfg`, in which the nodes have their ports of this machine. */
  async #startProxy(): Promise<void> {
    const config = this.nodes.reduce(
      (text, { name, port, clusterPort }) =>
        text.replace(`${name}:8787`, `127.0.0.1:${port} port ${clusterPort}`),
      readFileSync(join(ROOT, "ops/haproxy.cfg"), "utf8")
        .replace("bind :8787", `bind 127.0.0.1:${this.#proxyPort}`)
        .replaceAll(/^ {2}server (.*) \1:8787$/gm, (line, name: string) =>
          this.nodes.some((node) => node.name === name) ? line : "",
        ),
    );
    const file = join(this.#home, "haproxy.cfg");
    writeFileSync(file, config);
    this.#proxy = new Child("haproxy", ["-db", "-f", file], process.env);
    await this.#proxy.listening(this.#proxyPort);
    for (let i = 0; (await statusAt(`${this.url}/healthz`)) !== 200; i++) {
      if (i === 100) throw new Error(`the proxy finds no node:\n${this.#proxy.output}`);
      await sleep(100);
    }
  }
}

/** One process of a cluster, with a disk of its own. */
export class Node {
  readonly name: string;
  readonly port: number;
  readonly clusterPort: number;
  readonly url: string;
  readonly #home: string;
  readonly #vars: Vars;
  #child: Child | null = null;
  #earlierOutput = "";

  constructor(home: string, number: number, port: number, clusterPort: number, vars: Vars) {
    this.#home = home;
    this.name = `relay-${number}`;
    this.port = port;
    this.clusterPort = clusterPort;
    this.url = `http://127.0.0.1:${port}`;
    this.#vars = vars;
  }

  /** The log of all processes of this node. */
  get output(): string {
    return this.#earlierOutput + (this.#child?.output ?? "");
  }

  get isAlive(): boolean {
    return this.#child?.isAlive ?? false;
  }

  get exitCode(): number | null {
    return this.#child?.exitCode ?? null;
  }

  get disk(): string {
    return join(this.#home, this.name);
  }

  /** Starts the process, and waits until it is ready. */
  async start(): Promise<void> {
    const child = this.launch();
    const giveUpAt = Date.now() + TAKEN_OVER_WITHIN_MS;
    while (!(await this.isReady())) {
      if (!child.isAlive || Date.now() > giveUpAt) throw new Error(`not ready:\n${child.output}`);
      await sleep(100);
    }
  }

  /**
   * Starts the process without waiting for it.
   * @param vars further variables of its environment.
   * @param site directory of the operator's files, by default that of the cluster.
   */
  launch(vars: Vars = {}, site = join(this.#home, "site")): Child {
    mkdirSync(this.disk, { recursive: true });
    const release = join(this.#home, "task-relay");
    const args = [
      "serve",
      "--experimental",
      `--import-path=${site}`,
      `--socket-addr=http=127.0.0.1:${this.port}`,
      `--cluster-addr=127.0.0.1:${this.clusterPort}`,
      `--directory-path=disk=${this.disk}`,
      `--directory-path=public=${join(release, "public")}`,
      join(release, "workerd-cluster.capnp"),
    ];
    const env = { CALLBACK_SCHEDULE_S: "0,2,2", ...LOCAL_VARS, ...this.#vars, ...vars };
    this.#earlierOutput = this.output;
    this.#child = new Child(join(release, "workerd"), args, env);
    return this.#child;
  }

  /** Tells what `GET /ready` at the private port says. */
  async isReady(): Promise<boolean> {
    return (await statusAt(`http://127.0.0.1:${this.clusterPort}/ready`)) === 200;
  }

  /** Ends the process with SIGTERM, and waits for its end. */
  async stop(): Promise<void> {
    this.#child?.signal("SIGTERM");
    await this.#child?.ended();
  }

  async kill9(): Promise<void> {
    await this.#child?.kill9();
  }

  /** Waits until the process has ended by itself. */
  async ended(): Promise<void> {
    await this.#child?.ended();
  }

  /** Copies the operator's files of the cluster, one of them changed. @returns the directory of the copies. */
  siteWith(file: string, text: string | null): string {
    const copy = mkdtempSync(join(this.#home, "site-"));
    cpSync(join(this.#home, "site"), copy, { recursive: true });
    if (text === null) rmSync(join(copy, file));
    else writeFileSync(join(copy, file), text);
    return copy;
  }
}

async function statusAt(url: string): Promise<number | null> {
  try {
    const response = await fetch(url);
    await response.arrayBuffer();
    return response.status;
  } catch {
    return null;
  }
}

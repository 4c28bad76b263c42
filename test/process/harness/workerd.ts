import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { copyFile, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { promisify } from "node:util";
import { workerdPath } from "../../../scripts/self-host/release.ts";
import { configText, workerText } from "../../../scripts/self-host/workerd-text.ts";
import { BUCKET_FILES, BUCKET_PARTS } from "./bucket.ts";
import { Child, QUIET_ENV, ROOT, WRANGLER } from "./child.ts";
import { Client } from "./client.ts";
import { freePort } from "./loopback.ts";

/** The bundle of `wrangler deploy --dry-run`. */
export interface Bundle {
  readonly script: string;
}

export type Vars = Readonly<Record<string, string>>;

export interface WorkerdOptions {
  readonly vars: Vars;
  /** File to bundle instead of `src/index.ts`; a relative path starts in `entries/`. */
  readonly entry?: string;
  /** A bundle to serve instead of one of `entry`. */
  readonly script?: string;
  /** A bundle of another build: a Worker of the same process, at `otherUrl`, with the same objects. */
  readonly otherScript?: string;
  /** Tells which of the two Workers runs the objects of a binding; by default the relay runs all. */
  readonly homeOf?: HomeOf;
  /** Script of another Worker, `boundUrl`, whose binding `RELAY` is the entrypoint `Relay`. */
  readonly boundScript?: string;
  /** Directory of its temporary directory, by default the system's. */
  readonly parent?: string;
  /** False to return without a first request, when the port is open; true by default. */
  readonly isAsked?: boolean;
  /** Command that runs the command after it, e.g. with other limits. */
  readonly wrapper?: readonly string[];
  /** True when the Workers can be inspected, at `inspectorPort`; false by default. */
  readonly hasInspector?: boolean;
  /** Options of the JavaScript engine. */
  readonly v8Flags?: readonly string[];
  /** False when the relay sends all its requests on connections that workerd keeps; true by default. */
  readonly hasNewConnections?: boolean;
  /** True when the relay has a bucket for outputs, in `buckets`; false by default. */
  readonly hasOutputs?: boolean;
  /** Directory of the files that are answered without the relay; by default `public`. */
  readonly files?: string;
  /** False when the relay has no index, or the entry lacks the class of its object; true by default. */
  readonly hasIndex?: boolean;
}

/** Directory of the files that are answered without the relay. */
const PUBLIC = join(ROOT, "public");

/** Returns the Worker that runs the objects of a binding, e.g. of `TASKS`. */
export type HomeOf = (binding: string) => "relay" | "other";

/** A further Worker in the same process, on a port of its own. */
interface FurtherWorker {
  readonly name: "bound" | "other";
  readonly script: string;
  readonly port: number;
}

/** Variables that the configuration of one machine takes from the environment. */
const VARIABLES = Array.from(
  readFileSync(join(ROOT, "ops/workerd.capnp"), "utf8").matchAll(/fromEnvironment = "(\w+)"/g),
  ([, name = ""]) => name,
);

const NETWORKS = `const networks :List(Text) = ["public", "private"];\n`;

const BOUND_WORKER = `const bound :Workerd.Worker = (
  modules = [(name = "bound.js", esModule = embed "bound.js")],
  compatibilityDate = "2026-10-20",
  bindings = [(name = "RELAY", service = (name = "relay", entrypoint = "Relay"))],
);`;
const serviceText = ({ name }: FurtherWorker) => `(name = "${name}", worker = .${name})`;
const socketText = ({ name, port }: FurtherWorker) =>
  `(name = "${name}-http", address = "127.0.0.1:${port}", http = (), service = "${name}")`;

const NO_BUCKET = { services: [], extensions: [], bindings: [], workers: [] };

const bundles = new Map<string, Promise<Bundle>>();

/** Bundles an entry, once per worker of Vitest; by default the one that is deployed. */
export function bundleOf(entry = ""): Promise<Bundle> {
  const known = bundles.get(entry) ?? makeBundle(entry);
  bundles.set(entry, known);
  return known;
}

/**
 * The relay on released workerd, with the configuration of a machine of one's own, `ops/workerd.capnp`, to which options
 * add Workers, variables of an entry or a bucket. All networks are allowed. Of the environment of the tests it gets
 * nothing but `PATH`.
 */
export class Workerd implements AsyncDisposable {
  readonly url: string;
  readonly client: Client;
  /** Port of the inspector, on which nothing listens without `hasInspector`. */
  readonly inspectorPort: number;
  readonly #home: string;
  readonly #port: number;
  readonly #command: readonly string[];
  readonly #further: readonly FurtherWorker[];
  readonly #v8Flags: readonly string[];
  readonly #hasNewConnections: boolean;
  readonly #hasOutputs: boolean;
  readonly #files: string;
  readonly #hasIndex: boolean;
  #homeOf: HomeOf;
  #vars: Vars = {};
  #child: Child | null = null;
  #earlierOutput = "";

  private constructor(
    home: string,
    port: number,
    inspectorPort: number,
    {
      wrapper = [],
      hasInspector = false,
      homeOf = () => "relay",
      v8Flags = [],
      hasNewConnections = true,
      hasOutputs = false,
      files = PUBLIC,
      hasIndex = true,
    }: WorkerdOptions,
    further: readonly FurtherWorker[],
  ) {
    this.#home = home;
    this.#port = port;
    this.inspectorPort = inspectorPort;
    this.#further = further;
    this.#homeOf = homeOf;
    this.#v8Flags = v8Flags;
    this.#hasNewConnections = hasNewConnections;
    this.#hasOutputs = hasOutputs;
    this.#files = files;
    this.#hasIndex = hasIndex;
    this.url = `http://127.0.0.1:${port}`;
    this.client = new Client(this);
    const inspected = hasInspector ? [`--inspector-addr=127.0.0.1:${inspectorPort}`] : [];
    // Only the Workers beside the relay use experimental functions.
    const experimental = hasNewConnections || hasOutputs ? ["--experimental"] : [];
    const options = [...experimental, ...inspected, `--import-path=${home}`];
    this.#command = [...wrapper, workerdPath, "serve", ...options];
  }

  static async start(options: WorkerdOptions): Promise<Workerd> {
    const { vars, entry, parent = tmpdir(), boundScript, otherScript } = options;
    const script = options.script ?? (await bundleOf(entry)).script;
    const home = await mkdtemp(join(parent, "task-relay-workerd-"));
    const further = [
      ...(await furtherWorker("bound", boundScript)),
      ...(await furtherWorker("other", otherScript)),
    ];
    const relay = new Workerd(home, await freePort(), await freePort(), options, further);
    try {
      await mkdir(relay.storage);
      for (const name of ["files.js", "new-connections.js"]) {
        await copyFile(join(ROOT, "ops", name), join(home, name));
      }
      for (const [name, file] of Object.entries(BUCKET_FILES))
        await copyFile(file, join(home, name));
      await symlink(relay.#files, join(home, "public"));
      await writeFile(join(home, "allow.capnp"), NETWORKS);
      for (const { name, script: code } of further) await writeFile(join(home, `${name}.js`), code);
      await relay.restart(vars, script, options.isAsked);
    } catch (error) {
      await relay[Symbol.asyncDispose]();
      throw error;
    }
    return relay;
  }

  /** URL of the Worker that calls the relay through a service binding. */
  get boundUrl(): string {
    return this.#urlOf("bound");
  }

  /** URL of the Worker of another build. */
  get otherUrl(): string {
    return this.#urlOf("other");
  }

  /** Id of the current process. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Directory of the objects' files. */
  get storage(): string {
    return join(this.#home, "storage");
  }

  /** Directory of the bucket's files. */
  get buckets(): string {
    return join(this.storage, "buckets");
  }

  /** The log of all processes of this relay. */
  get output(): string {
    return this.#earlierOutput + (this.#child?.output ?? "");
  }

  async kill9(): Promise<void> {
    await this.#child?.kill9();
    this.#earlierOutput = this.output;
    this.#child = null;
  }

  /**
   * Starts a new process on the same storage and port.
   * @param vars "kept" keeps those of the process before.
   * @param script a new bundle; null keeps the bundle.
   * @param isAsked false to return without a first request, when the port is open.
   */
  async restart(
    vars: Vars | "kept" = "kept",
    script: string | null = null,
    isAsked = true,
  ): Promise<void> {
    await this.kill9();
    const config = join(this.#home, "config.capnp");
    if (script !== null) await writeFile(join(this.#home, "index.js"), script);
    if (vars !== "kept") {
      this.#vars = vars;
      await writeFile(config, this.#config(vars));
    }
    const [command = "", ...args] = this.#command;
    const options = [
      `--socket-addr=http=127.0.0.1:${this.#port}`,
      `--directory-path=disk=${this.storage}`,
      `--directory-path=public=${this.#files}`,
    ];
    const env = { PATH: process.env["PATH"], ...this.#vars };
    this.#child = new Child(command, [...args, ...options, config], env);
    await (isAsked
      ? this.#child.answering(`${this.url}/healthz`)
      : this.#child.listening(this.#port));
  }

  /**
   * Starts a new process on the same storage, in which the Workers run other objects than before.
   * @param isKilled false to let the process first answer the requests that it has begun.
   */
  async moveObjects(homeOf: HomeOf, isKilled: boolean): Promise<void> {
    if (!isKilled) await this.#child?.terminate();
    this.#homeOf = homeOf;
    await this.restart(this.#vars);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill9();
    await rm(this.#home, { recursive: true, force: true });
  }

  #urlOf(name: FurtherWorker["name"]): string {
    return `http://127.0.0.1:${this.#further.find((each) => each.name === name)?.port}`;
  }

  #config(vars: Vars): string {
    const { services, extensions, bindings, workers } = this.#hasOutputs ? BUCKET_PARTS : NO_BUCKET;
    const hasNewConnections = this.#hasNewConnections;
    const options = {
      homeOf: this.#homeOf,
      variables: [...new Set([...VARIABLES, ...Object.keys(vars)])],
      hasNewConnections,
      hasIndex: this.#hasIndex,
    };
    return [
      configText({
        services: [...this.#further.map(serviceText), ...services],
        extensions,
        sockets: this.#further.map(socketText),
        v8Flags: this.#v8Flags,
        hasNewConnections,
      }),
      workerText({ name: "relay", bindings, ...options }),
      ...workers,
      ...this.#further.map(({ name }) =>
        name === "bound" ? BOUND_WORKER : workerText({ name, ...options }),
      ),
    ].join("");
  }
}

/** Returns a list with a further Worker on a free port; an empty one without its script. */
async function furtherWorker(
  name: FurtherWorker["name"],
  script: string | undefined,
): Promise<readonly FurtherWorker[]> {
  return script === undefined ? [] : [{ name, script, port: await freePort() }];
}

async function makeBundle(entry: string): Promise<Bundle> {
  const outdir = await mkdtemp(join(tmpdir(), "task-relay-bundle-"));
  try {
    const entries = entry === "" ? [] : [resolve(import.meta.dirname, "../entries", entry)];
    await promisify(execFile)(
      process.execPath,
      [WRANGLER, "deploy", ...entries, "-c", "wrangler.toml", "--dry-run", "--outdir", outdir],
      { cwd: ROOT, env: QUIET_ENV },
    );
    const file = entry === "" ? "index.js" : `${basename(entry, ".ts")}.js`;
    return { script: await readFile(join(outdir, file), "utf8") };
  } finally {
    await rm(outdir, { recursive: true, force: true });
  }
}

import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { Child, QUIET_ENV, ROOT, WRANGLER } from "../harness/child.ts";
import { freePort } from "../harness/loopback.ts";
import { type Vars, workerdBinary } from "../harness/workerd.ts";

const run = promisify(execFile);

/** The project that `docs/new-api.md` describes, in a temporary directory. */
export class FrontProject implements AsyncDisposable {
  readonly directory: string;
  readonly source: string;
  readonly #compatibilityDate: string;

  private constructor(directory: string, source: string, compatibilityDate: string) {
    this.directory = directory;
    this.source = source;
    this.#compatibilityDate = compatibilityDate;
  }

  /** Extracts the project, and bundles it with wrangler. */
  static async create(): Promise<FrontProject> {
    const page = await readFile(join(ROOT, "docs/new-api.md"), "utf8");
    const [source, config] = [blockOf(page, "ts"), blockOf(page, "toml")];
    const date = /^compatibility_date = "(.+)"$/m.exec(config)?.[1] ?? "";
    const directory = await mkdtemp(join(tmpdir(), "task-relay-front-"));
    const project = new FrontProject(directory, source, date);
    await writeFile(join(directory, "front.ts"), source);
    await writeFile(join(directory, "wrangler.toml"), config);
    const options = { cwd: directory, env: QUIET_ENV };
    const args = ["deploy", "-c", "wrangler.toml", "--dry-run", "--outdir", "bundle"];
    await run(process.execPath, [WRANGLER, ...args], options);
    return project;
  }

  /** Type-checks the source strictly. @returns what the compiler prints. */
  async typeErrors(): Promise<string> {
    const compilerOptions = {
      noPropertyAccessFromIndexSignature: false,
      incremental: false,
      lib: ["esnext"],
      types: [join(ROOT, "node_modules/@cloudflare/workers-types")],
    };
    const extended = join(ROOT, "tsconfig.base.json");
    const config = { extends: extended, compilerOptions, files: ["front.ts"] };
    await writeFile(join(this.directory, "tsconfig.json"), JSON.stringify(config));
    const compiler = join(ROOT, "node_modules/.bin/tsc");
    const compiled = run(compiler, ["-p", this.directory]);
    return compiled.then(
      ({ stdout }) => stdout,
      (error: unknown) => String(Reflect.get(Object(error), "stdout")),
    );
  }

  /**
   * Starts the Worker on released workerd.
   * @param relay address of the relay for the binding `RELAY`, when the only other server that the Worker can
   * call is the `gateway`; null binds nothing and lets it call every server.
   */
  async start(vars: Vars, relay: string | null, gateway: string): Promise<FrontWorker> {
    const port = await freePort();
    const home = join(this.directory, String(port));
    await mkdir(home);
    const script = await readFile(join(this.directory, "bundle/front.js"), "utf8");
    await writeFile(join(home, "front.js"), script);
    const config = join(home, "config.capnp");
    await writeFile(config, configOf(vars, port, relay, gateway, this.#compatibilityDate));
    const child = new Child(workerdBinary, ["serve", config], process.env);
    const url = `http://127.0.0.1:${port}`;
    await child.answering(url);
    return new FrontWorker(url, child);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.directory, { recursive: true, force: true });
  }
}

/** The running Worker. */
export class FrontWorker implements AsyncDisposable {
  readonly url: string;
  readonly #child: Child;

  constructor(url: string, child: Child) {
    this.url = url;
    this.#child = child;
  }

  get output(): string {
    return this.#child.output;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#child.kill9();
  }
}

function blockOf(page: string, language: string): string {
  const block = new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, "m").exec(page)?.[1];
  if (block === undefined) throw new Error(`there is no block of ${language}`);
  return block;
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

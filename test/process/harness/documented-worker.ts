import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import { QUIET_ENV, ROOT, WRANGLER } from "./child.ts";

const run = promisify(execFile);

/** The Worker that a page of `docs` shows, in a temporary directory. */
export class DocumentedWorker implements AsyncDisposable {
  readonly directory: string;
  /** The page's block of TypeScript. */
  readonly source: string;
  /** The source as wrangler bundles it. */
  readonly script: string;
  readonly compatibilityDate: string;

  private constructor(
    directory: string,
    source: string,
    script: string,
    compatibilityDate: string,
  ) {
    this.directory = directory;
    this.source = source;
    this.script = script;
    this.compatibilityDate = compatibilityDate;
  }

  /**
   * Takes the blocks of TypeScript and TOML out of a page, e.g. `binding.md`, and bundles them.
   * @param packages directory `node_modules` with what the Worker imports.
   */
  static async create(page: string, packages: string): Promise<DocumentedWorker> {
    const text = await readFile(join(ROOT, "docs", page), "utf8");
    const [source, config] = [blockOf(text, "ts"), blockOf(text, "toml")];
    const [, main = ""] = /^main = "(.+)"$/m.exec(config) ?? [];
    const [, date = ""] = /^compatibility_date = "(.+)"$/m.exec(config) ?? [];
    const home = await mkdtemp(join(tmpdir(), "task-relay-documented-"));
    const directory = join(home, "worker");
    await mkdir(directory);
    await symlink(packages, join(directory, "node_modules"));
    await writeFile(join(directory, main), source);
    await writeFile(join(directory, "wrangler.toml"), config);
    const args = ["deploy", "-c", "wrangler.toml", "--dry-run", "--outdir", "bundle"];
    await run(process.execPath, [WRANGLER, ...args], { cwd: directory, env: QUIET_ENV });
    const bundle = join(directory, "bundle", `${basename(main, ".ts")}.js`);
    return new DocumentedWorker(directory, source, await readFile(bundle, "utf8"), date);
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
    const config = { extends: extended, compilerOptions, include: ["*.ts"] };
    await writeFile(join(this.directory, "tsconfig.json"), JSON.stringify(config));
    const compiler = join(ROOT, "node_modules/.bin/tsc");
    const compiled = run(compiler, ["-p", this.directory]);
    return compiled.then(
      ({ stdout }) => stdout,
      (error: unknown) => String(Reflect.get(Object(error), "stdout")),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(dirname(this.directory), { recursive: true, force: true });
  }
}

function blockOf(page: string, language: string): string {
  const block = new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, "m").exec(page)?.[1];
  if (block === undefined) throw new Error(`there is no block of ${language}`);
  return block;
}

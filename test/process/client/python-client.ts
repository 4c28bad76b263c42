import { execFile } from "node:child_process";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import * as z from "zod";
import { ROOT } from "../harness/child.ts";

const run = promisify(execFile);
const Failed = z.object({ stdout: z.string(), stderr: z.string() });
const CLIENT = join(ROOT, "client-python");
const REQUIREMENTS = join(CLIENT, "requirements.txt");

/** The versions of Python that the client supports. */
export const PYTHONS = ["3.10", "3.11", "3.12", "3.13", "3.14"] as const;

/** The Python client as its packages, built once, and environments of Python that use them. */
export class PythonClient implements AsyncDisposable {
  readonly #home: string;

  private constructor(home: string) {
    this.#home = home;
  }

  static async make(): Promise<PythonClient> {
    return new PythonClient(await mkdtemp(join(tmpdir(), "task-relay-python-")));
  }

  /** Makes an environment with all tools of `requirements.txt`, and builds the packages with it. */
  async build(python: string): Promise<PythonEnvironment> {
    const tools = await this.#environment(python, "tools");
    await tools.install("-r", REQUIREMENTS);
    await tools.run("build", "--no-isolation", "--outdir", this.#packages, CLIENT);
    return tools;
  }

  /** Makes an environment that has the wheel installed, and what the tests need. */
  async installed(python: string, name: string): Promise<PythonEnvironment> {
    const environment = await this.#environment(python, name);
    const [wheel] = await this.packages(".whl");
    const testing = ["pytest", "standardwebhooks", "trio"];
    await environment.install("-c", REQUIREMENTS, ...testing, `${wheel}[ed25519]`);
    return environment;
  }

  /** Returns the paths of the packages with an ending. */
  async packages(ending: string): Promise<readonly string[]> {
    const names = await readdir(this.#packages);
    return names.filter((name) => name.endsWith(ending)).map((name) => join(this.#packages, name));
  }

  get #packages(): string {
    return join(this.#home, "packages");
  }

  async #environment(python: string, name: string): Promise<PythonEnvironment> {
    const home = join(this.#home, name);
    await run(python, ["-m", "venv", home]);
    return new PythonEnvironment(home);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#home, { recursive: true, force: true });
  }
}

/** A virtual environment, whose programs run in the folder of the client. */
export class PythonEnvironment {
  readonly #home: string;

  constructor(home: string) {
    this.#home = home;
  }

  async install(...args: readonly string[]): Promise<void> {
    await this.run("pip", "install", "--quiet", "--disable-pip-version-check", ...args);
  }

  /** Runs a module of Python. @returns what it prints. @throws with that when it fails. */
  run(module: string, ...args: readonly string[]): Promise<string> {
    return this.runWith({}, module, ...args);
  }

  /** Runs a module of Python with further variables. */
  async runWith(variables: NodeJS.ProcessEnv, module: string, ...args: readonly string[]) {
    const own = { PYTHONDONTWRITEBYTECODE: "1", NO_COLOR: "1", ...variables };
    const options = { cwd: CLIENT, env: { ...process.env, ...own } };
    try {
      const { stdout } = await run(
        join(this.#home, "bin/python"),
        ["-m", module, ...args],
        options,
      );
      return stdout;
    } catch (error) {
      const { stdout, stderr } = Failed.parse(error);
      throw new Error(`${module} ${args.join(" ")}\n${stdout}\n${stderr}`, { cause: error });
    }
  }
}

/** Finds a version of Python, also one that pyenv manages. @returns its path; null when it is not installed. */
export async function findPython(version: (typeof PYTHONS)[number]): Promise<string | null> {
  const managed = await run("pyenv", ["versions", "--bare"]).catch(() => ({ stdout: "" }));
  const env = { ...process.env, PYENV_VERSION: managed.stdout.trim().replaceAll(/\s+/g, ":") };
  const args = ["-c", "import sys; print(sys.executable)"];
  const found = await run(`python${version}`, args, { env }).catch(() => null);
  return found?.stdout.trim() ?? null;
}

import { execFile } from "node:child_process";
import { cp, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { build } from "esbuild";
import { newcomersEnvironment } from "../readme/checkout.ts";
import { ROOT } from "../harness/child.ts";

const run = promisify(execFile);
const CLIENT = join(ROOT, "client");

/** A project outside the repository that has installed the package from its tarball. */
export class PackedClient implements AsyncDisposable {
  readonly directory: string;

  private constructor(directory: string) {
    this.directory = directory;
  }

  static async install(): Promise<PackedClient> {
    const directory = await mkdtemp(join(tmpdir(), "task-relay-client-"));
    const project = new PackedClient(directory);
    try {
      // The npm scripts of the project use the TypeScript compiler of the workspace.
      await run("npm", ["pack", "--pack-destination", directory], { cwd: CLIENT });
      const manifest = { private: true, type: "module" };
      await writeFile(join(directory, "package.json"), JSON.stringify(manifest));
      await project.run("sh", "-c", "npm install --prefer-offline --no-audit --no-fund *.tgz");
      for (const name of ["scenario.ts", "on-node.ts", "on-workerd.ts"]) {
        await cp(join(import.meta.dirname, name), join(directory, name));
      }
      return project;
    } catch (error) {
      await project[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Runs a command in the directory of the project. @returns its standard output. */
  async run(command: string, ...args: readonly string[]): Promise<string> {
    const env = newcomersEnvironment();
    return (await run(command, [...args], { cwd: this.directory, env })).stdout;
  }

  /** Bundles on-workerd.ts with the package into one script. */
  async workerScript(): Promise<string> {
    const { outputFiles } = await build({
      entryPoints: [join(this.directory, "on-workerd.ts")],
      bundle: true,
      format: "esm",
      write: false,
    });
    return outputFiles[0]?.text ?? "";
  }

  /** Makes packages that are installed in the repository available in the project too. */
  async link(...names: readonly string[]): Promise<void> {
    for (const name of names) {
      const path = join(this.directory, "node_modules", name);
      await rm(path, { force: true });
      await symlink(join(ROOT, "node_modules", name), path);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.directory, { recursive: true, force: true });
  }
}

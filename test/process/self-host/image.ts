import { execFile, execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import * as z from "zod";
import { writeImageContext } from "../../../scripts/self-host/image.ts";
import { Child } from "../harness/child.ts";
import { freePort } from "../harness/loopback.ts";
import { bundleOf } from "../harness/workerd.ts";

const Config = z.object({
  OCIv1: z.object({
    config: z.object({
      User: z.string(),
      Env: z.array(z.string()),
      Entrypoint: z.array(z.string()),
      Cmd: z.array(z.string()),
      Volumes: z.record(z.string(), z.unknown()),
    }),
  }),
});
export type ImageConfig = z.output<typeof Config>["OCIv1"]["config"];

/** Directory of the objects in a container. */
export const DATA = "/var/lib/task-relay";

/**
 * The image of the relay, built by buildah, with a container of it. The container shares the network of this machine, and
 * runs without namespaces, so that it also runs where these are forbidden.
 */
export class Image implements AsyncDisposable {
  readonly url: string;
  readonly config: ImageConfig;
  readonly #home: string;
  readonly #container: string;
  readonly #port: number;
  #child: Child | null = null;

  private constructor(home: string, container: string, config: ImageConfig, port: number) {
    this.#home = home;
    this.#container = container;
    this.config = config;
    this.#port = port;
    this.url = `http://127.0.0.1:${port}`;
  }

  static async build(): Promise<Image> {
    const home = mkdtempSync(join(tmpdir(), "task-relay-image-"));
    try {
      const [context, bundle] = [join(home, "context"), join(home, "index.js")];
      writeFileSync(bundle, (await bundleOf()).script);
      writeImageContext(context, bundle);
      await promisify(execFile)("buildah", [
        ...storeOf(home),
        "bud",
        "-q",
        "-t",
        "task-relay",
        context,
      ]);
      const buildah = (...args: readonly string[]) =>
        execFileSync("buildah", [...storeOf(home), ...args], { encoding: "utf8" }).trim();
      const { OCIv1 } = Config.parse(
        JSON.parse(buildah("inspect", "--type", "image", "task-relay")),
      );
      const container = buildah("from", "task-relay");
      return new Image(home, container, OCIv1.config, await freePort());
    } catch (error) {
      rmSync(home, { recursive: true, force: true });
      throw error;
    }
  }

  /** Directory of this machine that holds the files of the container. */
  get root(): string {
    return execFileSync("buildah", [...storeOf(this.#home), "mount", this.#container], {
      encoding: "utf8",
    }).trim();
  }

  get output(): string {
    return this.#child?.output ?? "";
  }

  /** Starts the relay with these variables, at `url`, with the volume of the container before. */
  async start(vars: Readonly<Record<string, string>>): Promise<void> {
    const { Entrypoint, Cmd } = this.config;
    const variables = Object.entries(vars).flatMap(([name, value]) => ["-e", `${name}=${value}`]);
    const entry = Entrypoint.map((part) => part.replace("*:8787", `127.0.0.1:${this.#port}`));
    const args = ["run", "--isolation", "chroot", ...variables, this.#container, "--"];
    const child = new Child(
      "buildah",
      [...storeOf(this.#home), ...args, ...entry, ...Cmd],
      process.env,
    );
    this.#child = child;
    await child.answering(`${this.url}/healthz`);
  }

  /** Sends SIGTERM to workerd, as `docker stop` does. */
  terminate(): void {
    process.kill(this.pid, "SIGTERM");
  }

  /** Waits until the container has ended. @returns its exit code. */
  async ended(): Promise<number | null> {
    await this.#child?.ended();
    return this.#child?.exitCode ?? null;
  }

  /** Id of the process of workerd, which buildah starts in a process group of its own. */
  get pid(): number {
    const found = this.#findWorkerd();
    if (found === undefined) throw new Error(`no workerd runs:\n${this.output}`);
    return found;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const pid = this.#findWorkerd();
    if (pid !== undefined) process.kill(pid, "SIGKILL");
    await this.#child?.kill9();
    rmSync(this.#home, { recursive: true, force: true });
  }

  #findWorkerd(): number | undefined {
    const address = `--socket-addr=http=127.0.0.1:${this.#port}`;
    const found = readdirSync("/proc").find(
      (id) =>
        contentOf(`/proc/${id}/comm`).trim() === "workerd" &&
        contentOf(`/proc/${id}/cmdline`).split("\0").includes(address),
    );
    return found === undefined ? undefined : Number(found);
  }
}

/** Options by which buildah keeps its images in a directory, without a mount that needs further rights. */
function storeOf(home: string): readonly string[] {
  return ["--root", join(home, "root"), "--runroot", join(home, "run"), "--storage-driver", "vfs"];
}

function contentOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

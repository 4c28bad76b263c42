import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import * as z from "zod";
import { Child } from "../harness/child.ts";
import { type Vars, Workerd } from "../harness/workerd.ts";

/** `file_size`: no byte of a file is written beyond this one. `open_files`: so many more than are open. */
export type Shortage = {
  readonly what: "file_size" | "open_files";
  readonly left: number;
};

const LIMITS = { file_size: "fsize", open_files: "nofile" } as const;
const require = createRequire(import.meta.url);
const workerdBinary = z.object({ default: z.string() }).parse(require("workerd")).default;

/**
 * A relay from which the machine withholds what its storage needs, and to which it is given back: as on a
 * disk that is full, or with more tasks at once than the process may open files. Linux alone has it.
 */
export class StarvedRelay implements AsyncDisposable {
  readonly #home: Workerd;
  readonly #pid: string;
  readonly #child: Child;
  readonly #given: Readonly<Record<Shortage["what"], string>>;

  private constructor(home: Workerd, child: Child) {
    this.#home = home;
    this.#child = child;
    this.#pid = String(child.pid);
    this.#given = { file_size: this.#limit("file_size"), open_files: this.#limit("open_files") };
  }

  static async start(vars: Vars): Promise<StarvedRelay> {
    const home = await Workerd.start({ vars });
    await home.kill9();
    const config = join(dirname(home.storage), "config.capnp");
    // A write beyond the limit is to fail, as on a full disk, and not to end the process.
    const script = 'trap "" XFSZ && exec "$@"';
    const args = ["-c", script, "sh", workerdBinary, "serve", config];
    const child = new Child("sh", args, process.env);
    await child.answering(`${home.url}/healthz`);
    return new StarvedRelay(home, child);
  }

  get url(): string {
    return this.#home.url;
  }

  get output(): string {
    return this.#child.output;
  }

  starve({ what, left }: Shortage): void {
    const used = what === "open_files" ? readdirSync(`/proc/${this.#pid}/fd`).length : 0;
    this.#setLimit(what, String(used + left));
  }

  feed(): void {
    for (const what of ["file_size", "open_files"] as const) {
      this.#setLimit(what, this.#given[what]);
    }
  }

  /** The same storage under a new process, which lacks nothing. */
  async restart(): Promise<void> {
    await this.#child.kill9();
    await this.#home.restart();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#child.kill9();
    await this.#home.stop();
  }

  #limit(what: Shortage["what"]): string {
    const args = [`--${LIMITS[what]}`, "--output=SOFT", "--noheadings", "--raw"];
    return execFileSync("prlimit", ["--pid", this.#pid, ...args], { encoding: "utf8" }).trim();
  }

  #setLimit(what: Shortage["what"], soft: string): void {
    execFileSync("prlimit", ["--pid", this.#pid, `--${LIMITS[what]}=${soft}:`]);
  }
}

import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { Child } from "../harness/child.ts";
import { type Vars, Workerd, workerdBinary } from "../harness/workerd.ts";

/** `file_size` limits files to so many bytes; `open_files` leaves so many more than are open now. */
export type Shortage = {
  readonly what: "file_size" | "open_files";
  readonly left: number;
};

const FLAGS = { file_size: "--fsize", open_files: "--nofile" } as const;

/** A relay whose process limits can be lowered and restored, as on a full disk; on Linux only. */
export class LimitedRelay implements AsyncDisposable {
  readonly #home: Workerd;
  readonly #child: Child;
  #restoreLimit = () => {};

  private constructor(home: Workerd, child: Child) {
    this.#home = home;
    this.#child = child;
  }

  static async start(vars: Vars): Promise<LimitedRelay> {
    const home = await Workerd.start({ vars });
    await home.kill9();
    const config = join(dirname(home.storage), "config.capnp");
    // A write beyond the limit then fails, as on a full disk, instead of ending the process.
    const script = 'trap "" XFSZ && exec "$@"';
    const args = ["-c", script, "sh", workerdBinary, "serve", config];
    const child = new Child("sh", args, process.env);
    await child.answering(`${home.url}/healthz`);
    return new LimitedRelay(home, child);
  }

  get url(): string {
    return this.#home.url;
  }

  limit({ what, left }: Shortage): void {
    const process = ["--pid", String(this.#child.pid)];
    const set = (soft: string | number) => prlimit(...process, `${FLAGS[what]}=${soft}:`);
    const before = prlimit(...process, FLAGS[what], "--output=SOFT", "--noheadings", "--raw");
    this.#restoreLimit = () => set(before);
    const used = what === "open_files" ? readdirSync(`/proc/${this.#child.pid}/fd`).length : 0;
    set(used + left);
  }

  restoreLimit(): void {
    this.#restoreLimit();
  }

  /** Starts a new process without limits on the same storage. */
  async restart(): Promise<void> {
    await this.#child.kill9();
    await this.#home.restart();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#child.kill9();
    await this.#home.stop();
  }
}

function prlimit(...args: readonly string[]): string {
  return execFileSync("prlimit", args, { encoding: "utf8" }).trim();
}

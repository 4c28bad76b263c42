import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { cp, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { ROOT } from "../bug-list.ts";
import { Finding, type Order } from "./messages.ts";

/** What a copy of the tree does not need, or links. */
const LEFT_OUT: ReadonlySet<string> = new Set([".git", ".wrangler", "dist", "node_modules"]);
const LINKED = ["node_modules", "client/node_modules"];
const SHOWN_CHARS = 2_000;

/** A copy of the tree, and a process that runs tests in it. */
export class TestedCopy implements AsyncDisposable {
  readonly #home: string;
  readonly #tester: ChildProcess;
  #output = "";

  private constructor(home: string) {
    this.#home = home;
    this.#tester = fork(join(home, "test/planted/shell/tester.ts"), {
      cwd: home,
      stdio: ["ignore", "pipe", "pipe", "ipc"],
    });
    for (const stream of [this.#tester.stdout, this.#tester.stderr]) {
      stream?.on("data", (data: Buffer) => {
        this.#output = `${this.#output}${data.toString()}`.slice(-SHOWN_CHARS);
      });
    }
  }

  static async open(): Promise<TestedCopy> {
    const home = await mkdtemp(join(tmpdir(), "task-relay-planted-"));
    await cp(ROOT, home, { recursive: true, filter: (path) => !LEFT_OUT.has(basename(path)) });
    for (const path of LINKED) await symlink(join(ROOT, path), join(home, path));
    const copy = new TestedCopy(home);
    await copy.#answer();
    return copy;
  }

  /** Runs test files, after planting a bug if the order names one, and removes the bug. */
  async test(order: Order): Promise<Finding> {
    this.#tester.send(order);
    return Finding.parse(await this.#answer());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#tester.kill();
    await rm(this.#home, { recursive: true, force: true, maxRetries: 5 });
  }

  /** Waits for the next message of the tester. @throws when it ends instead. */
  async #answer(): Promise<unknown> {
    const answered = new AbortController();
    const { signal } = answered;
    try {
      const [answer] = await Promise.race([
        once(this.#tester, "message", { signal }),
        once(this.#tester, "exit", { signal }).then(() => {
          throw new Error(`the process that runs the tests has ended: ${this.#output}`);
        }),
      ]);
      return answer;
    } finally {
      answered.abort();
    }
  }
}

import { type ChildProcess, spawn } from "node:child_process";
import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { refuseLeaks } from "./leaks.ts";

export const ROOT = join(import.meta.dirname, "../../..");
/** Path of wrangler's launcher, which is run by the Node that runs the tests. */
export const WRANGLER = join(ROOT, "node_modules/wrangler/bin/wrangler.js");
/** Environment in which wrangler sends no metrics and prints no colours and banners. */
export const QUIET_ENV = {
  ...process.env,
  WRANGLER_HIDE_BANNER: "true",
  WRANGLER_SEND_METRICS: "false",
  NO_COLOR: "1",
};

const READY_WITHIN_MS = 30_000;
const LOOK_EVERY_MS = 20;
/** Time in milliseconds for which a process may end by itself after SIGTERM. */
const END_WITHIN_MS = 3_000;

const alive = new Set<Child>();
process.on("exit", () => {
  for (const child of alive) child.signal("SIGKILL");
});

/** A server in a process group of its own, so that the processes that it starts end with it. */
export class Child {
  readonly #process: ChildProcess;
  #output = "";
  /** Promise that resolves when the process has ended and its output is complete. */
  readonly #closed: Promise<void>;
  #isChecked = false;

  constructor(command: string, args: readonly string[], env: NodeJS.ProcessEnv) {
    this.#process = spawn(command, args, {
      cwd: ROOT,
      env,
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
    });
    for (const stream of [this.#process.stdout, this.#process.stderr]) {
      stream?.setEncoding("utf8").on("data", (text: string) => (this.#output += text));
    }
    alive.add(this);
    this.#process.once("exit", () => alive.delete(this));
    this.#closed = new Promise((resolve) => this.#process.once("close", () => resolve()));
  }

  get output(): string {
    return this.#output;
  }

  get pid(): number | undefined {
    return this.#process.pid;
  }

  /** Exit code of the process; null while it runs, and when a signal has ended it. */
  get exitCode(): number | null {
    return this.#process.exitCode;
  }

  get isAlive(): boolean {
    return this.#process.exitCode === null && this.#process.signalCode === null;
  }

  signal(signal: NodeJS.Signals): void {
    if (this.#process.pid !== undefined && this.isAlive) process.kill(-this.#process.pid, signal);
  }

  /** Ends the process with SIGKILL and waits for its end. @throws once, when the output contains a secret. */
  async kill9(): Promise<void> {
    this.signal("SIGKILL");
    await this.#closed;
    if (this.#isChecked) return;
    this.#isChecked = true;
    refuseLeaks("the output of a server", this.#output);
  }

  /** Ends the process with SIGTERM, and with SIGKILL if it has not ended after `END_WITHIN_MS`. */
  async terminate(): Promise<void> {
    this.signal("SIGTERM");
    await Promise.race([this.#closed, sleep(END_WITHIN_MS)]);
    await this.kill9();
  }

  /** Waits until the process has ended by itself. */
  ended(): Promise<void> {
    return this.#closed;
  }

  /** Waits until the output contains a text. @throws with the output when it does not in time. */
  async printed(text: string, times = 1): Promise<void> {
    const giveUpAt = Date.now() + READY_WITHIN_MS;
    while (this.#output.split(text).length <= times) {
      if (Date.now() > giveUpAt) throw new Error(`did not print "${text}":\n${this.#output}`);
      await sleep(LOOK_EVERY_MS);
    }
  }

  /** Waits until `url` answers. @throws with the output when the process ends or does not answer. */
  answering(url: string): Promise<void> {
    return this.#until(() => answers(url), `no answer at ${url}`);
  }

  /**
   * Waits until a port of this machine takes connections, without a request to it. @throws with the output
   * when the process ends or does not listen.
   */
  listening(port: number): Promise<void> {
    return this.#until(() => takesConnections(port), `nothing listens at port ${port}`);
  }

  async #until(isReady: () => Promise<boolean>, otherwise: string): Promise<void> {
    const giveUpAt = Date.now() + READY_WITHIN_MS;
    while (!(await isReady())) {
      if (!this.isAlive || Date.now() > giveUpAt) {
        await this.kill9();
        throw new Error(`${otherwise}:\n${this.#output}`);
      }
      await sleep(LOOK_EVERY_MS);
    }
  }
}

function takesConnections(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect({ port, host: "127.0.0.1" });
  socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
  return promise.finally(() => socket.destroy());
}

async function answers(url: string): Promise<boolean> {
  try {
    await (await fetch(url)).arrayBuffer();
    return true;
  } catch {
    return false;
  }
}

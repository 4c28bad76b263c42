import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Child, ROOT } from "../harness/child.ts";
import { freePort } from "../harness/loopback.ts";
import { Checkout } from "../readme/checkout.ts";

const PAGE = readFileSync(join(ROOT, "docs/self-host.md"), "utf8");

/** Returns the content of a code block after a heading of docs/self-host.md, by default of the first one. */
export function blockOf(heading: string, language = "sh account", nth = 0): string {
  const [, section = ""] = PAGE.split(`\n## ${heading}\n`);
  const blocks = [...section.matchAll(new RegExp(`^\`\`\`${language}\n([^]*?)^\`\`\`$`, "gm"))];
  const block = blocks[nth]?.[1];
  if (block === undefined) throw new Error(`no block after ${heading}`);
  return block;
}

/**
 * The relay as docs/self-host.md installs it, below a directory in place of `/`. In place of systemd, it is
 * started with the command and the environment of the unit.
 */
export class Installed implements AsyncDisposable {
  readonly url: string;
  readonly #clone: Checkout;
  readonly #port: number;
  #child: Child | null = null;

  private constructor(clone: Checkout, port: number) {
    this.#clone = clone;
    this.#port = port;
    this.url = `http://127.0.0.1:${port}`;
  }

  static async install(): Promise<Installed> {
    const clone = new Checkout();
    const installed = new Installed(clone, await freePort());
    clone.run(
      "mkdir -p root/opt root/etc/systemd/system root/var/lib/task-relay root/var/backups/task-relay",
    );
    installed.run("Install");
    return installed;
  }

  /** Runs the commands of a block after a heading of the page, without those of systemd. */
  run(heading: string, nth = 0): void {
    const commands = blockOf(heading, "sh account", nth)
      .split("\n")
      .filter((line) => !/^(?:sudo systemctl|curl) /.test(line));
    this.#clone.run(
      this.placed(commands.join("\n").replace("npm ci && ", "").replaceAll("sudo ", "")),
    );
  }

  path(absolute: string): string {
    return join(this.#clone.directory, "root", absolute);
  }

  /** Replaces a text of an installed file. @throws when the file lacks it. */
  edit(absolute: string, before: string, after: string): void {
    const text = readFileSync(this.path(absolute), "utf8");
    if (!text.includes(before)) throw new Error(`${absolute} lacks ${before}`);
    writeFileSync(this.path(absolute), text.replace(before, after));
  }

  /** The unit, with the paths and the port of this installation. */
  get unit(): string {
    return this.placed(readFileSync(this.path("/etc/systemd/system/task-relay.service"), "utf8"));
  }

  /** The variables of the environment file, read as systemd reads it. */
  get environment(): Record<string, string> {
    const file = readFileSync(this.#setting("EnvironmentFile"), "utf8");
    const lines = file.matchAll(/^([A-Z]\w*)=(?:"(.*)"|'(.*)'|(.*))$/gm);
    return Object.fromEntries([...lines].map(([, name, a, b, c]) => [name, a ?? b ?? c ?? ""]));
  }

  /** Starts the relay, again if it runs. */
  async start(): Promise<void> {
    await this.kill9();
    const env = { HTTP_ADDRESS: this.#setting("Environment=HTTP_ADDRESS"), ...this.environment };
    const line = this.#setting("ExecStart").replace("${HTTP_ADDRESS}", env.HTTP_ADDRESS);
    const [command = "", ...args] = line.split(" ");
    this.#child = new Child(command, args, env);
    await this.#child.answering(`${this.url}/healthz`);
  }

  /** Ends the process as `systemctl stop` does. */
  async stop(): Promise<void> {
    this.#child?.signal("SIGTERM");
    while (this.#child?.isAlive === true) await sleep(20);
  }

  async kill9(): Promise<void> {
    await this.#child?.kill9();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill9();
    this.#clone[Symbol.dispose]();
  }

  #setting(name: string): string {
    return new RegExp(`^${name}=(.*)$`, "m").exec(this.unit)?.[1] ?? "";
  }

  /** Returns a text with the paths and the port of this installation. */
  placed(text: string): string {
    return text
      .replaceAll(/\/(?=(?:opt|etc|var)\/)/g, `${this.path("")}/`)
      .replaceAll("127.0.0.1:8787", `127.0.0.1:${this.#port}`);
  }
}

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

const root = join(import.meta.dirname, "../..");
/** Interval at which the end of npm is noticed, in milliseconds; npm cannot pass on a `kill -9`. */
const LOOK_EVERY_MS = 500;

/** `wrangler dev` on this machine, which ends together with this process, whatever ends this process. */
export interface WranglerDev {
  readonly child: ChildProcess;
  /** Resolves when wrangler and the processes that it started are gone, with wrangler's exit code. */
  readonly ended: Promise<number>;
  /** Ends wrangler, and deletes the directory unless it is to be kept. */
  readonly stop: (options?: { readonly keepsDirectory: boolean }) => Promise<void>;
}

/**
 * Starts `wrangler dev` in a process group of its own, and another process that ends this group when this
 * process has ended. SIGINT, SIGTERM, SIGHUP and the end of npm stop wrangler, then this process.
 * @param output "inherit" shows the output of wrangler on the terminal.
 * @param directory deleted when wrangler has ended; null means that nothing is deleted.
 */
export function startWrangler(
  args: readonly string[],
  output: "inherit" | "pipe",
  directory: string | null,
): WranglerDev {
  const env = { ...process.env, WRANGLER_SEND_METRICS: "false" };
  const command = ["dev", "-c", "wrangler.toml", ...args];
  const group = { cwd: root, env, detached: true } as const;
  const wrangler = join(root, "node_modules/.bin/wrangler");
  const child = spawn(wrangler, command, { ...group, stdio: ["inherit", output, output] });
  const watched = [String(child.pid), ...(directory === null ? [] : [directory])];
  const watchdog = spawn(process.execPath, [join(import.meta.dirname, "watchdog.ts"), ...watched], {
    ...group,
    stdio: ["pipe", "ignore", "ignore"],
  });
  const askToEnd = () => watchdog.stdin.end();
  child.once("exit", askToEnd);
  // Without this second process, wrangler could outlive this process.
  watchdog.once("exit", () => child.kill());
  const ended = Promise.all([once(child, "exit"), once(watchdog, "exit")]).then(([[code]]) =>
    typeof code === "number" ? code : 1,
  );
  const stop: WranglerDev["stop"] = async ({ keepsDirectory } = { keepsDirectory: false }) => {
    if (keepsDirectory) watchdog.stdin.write("keep");
    askToEnd();
    await ended;
  };
  const end = () => {
    // Errors of requests that are interrupted by the relay's end are not shown.
    process.on("uncaughtException", () => {});
    void stop().then(() => process.exit(0));
  };
  const forget = onEndOfThisProcess(end);
  void ended.then(forget);
  return { child, ended, stop };
}

/** Calls `end` when this process is asked to end, or npm has ended. @returns a function that stops this. */
function onEndOfThisProcess(end: () => void): () => void {
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"];
  for (const signal of signals) process.on(signal, end);
  const parent = process.ppid;
  const isOfNpm = process.env["npm_lifecycle_event"] !== undefined;
  const timer = setInterval(() => {
    if (!isOfNpm || process.ppid === parent) return;
    clearInterval(timer);
    end();
  }, LOOK_EVERY_MS);
  timer.unref();
  return () => {
    for (const signal of signals) process.off(signal, end);
    clearInterval(timer);
  };
}

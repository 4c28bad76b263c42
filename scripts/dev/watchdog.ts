// Ends `wrangler dev`, with the processes that it has started, as soon as standard input ends: the process
// that started both has closed the pipe, or is gone without having been able to, as after `kill -9`.
// Arguments: id of wrangler's process, which leads a process group, and a directory to delete afterwards,
// which is kept when standard input has had any content.
import { rmSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

/** Time that wrangler gets to end in order, in milliseconds. */
const PATIENCE_MS = 3_000;
const LOOK_EVERY_MS = 50;

const [pid, directory] = process.argv.slice(2);
const leader = Number(pid);

let keepsDirectory = false;

process.stdin.on("data", () => (keepsDirectory = true));
process.stdin.once("end", async () => {
  signal(leader, "SIGTERM");
  for (let waitedMs = 0; waitedMs < PATIENCE_MS && signal(leader, 0); waitedMs += LOOK_EVERY_MS) {
    await sleep(LOOK_EVERY_MS);
  }
  signal(-leader, "SIGKILL");
  if (directory === undefined || keepsDirectory) return;
  rmSync(directory, { recursive: true, force: true });
});

/** Sends a signal to a process, or to a group by its negative id; returns false when it is gone. */
function signal(target: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(target, name);
  } catch {
    return false;
  }
}

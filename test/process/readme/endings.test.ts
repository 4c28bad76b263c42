import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, expect, it, vi } from "vitest";
import { Child } from "../harness/child.ts";
import { freePort } from "../harness/loopback.ts";
import { Checkout, newcomersEnvironment } from "./checkout.ts";

const ENDED_WITHIN_MS = 5_000;
const LOOK_EVERY_MS = 50;
const clone = new Checkout();

afterAll(() => clone[Symbol.dispose]());

/** Ways to end the command: the signal, and whether it goes to npm's whole process group. */
const ENDINGS = [
  ["npm start", "SIGTERM to npm", "SIGTERM", false],
  ["npm start", "SIGINT to npm", "SIGINT", false],
  ["npm start", "Ctrl-C, which is SIGINT to its process group,", "SIGINT", true],
  ["npm start", "kill -9 of npm", "SIGKILL", false],
  ["npm start", "kill -9 of its process group", "SIGKILL", true],
  ["npm run demo", "SIGTERM to npm", "SIGTERM", false],
] as const;

it.each(ENDINGS)(
  "when %s is ended by %s, its port is free and none of its processes is left within 5 s",
  async (command, _, signal, isForGroup) => {
    const port = await freePort();
    const [npm = "", ...words] = command.split(" ");
    const own = ["--inspector-port", "0", "--persist-to", join(clone.directory, String(port))];
    const options = ["--port", String(port), ...(words[0] === "start" ? own : [])];
    const args = ["--prefix", clone.directory, ...words, "--", ...options];
    const child = new Child(npm, args, newcomersEnvironment());
    await child.answering(`http://127.0.0.1:${port}/healthz`);
    const { pid = 0 } = child;
    const started = await untilWorkerdRuns(pid);

    process.kill(isForGroup ? -pid : pid, signal);
    const ids = new Set([pid, ...started.map((each) => each.pid)]);
    const left = () => processes().filter((each) => ids.has(each.pid));
    for (let ms = 0; ms < ENDED_WITHIN_MS && left().length > 0; ms += LOOK_EVERY_MS) {
      await sleep(LOOK_EVERY_MS);
    }
    expect(left()).toEqual([]);
    await expect(fetch(`http://127.0.0.1:${port}/healthz`)).rejects.toThrow("fetch failed");
  },
);

/** Returns the descendants of a process once workerd is among them: wrangler may be replacing one by another. */
async function untilWorkerdRuns(pid: number): Promise<readonly Process[]> {
  return vi.waitFor(
    () => {
      const all = descendantsOf(pid);
      expect(all.map(({ command }) => command).join("\n")).toContain("workerd");
      return all;
    },
    { timeout: ENDED_WITHIN_MS, interval: LOOK_EVERY_MS },
  );
}

interface Process {
  readonly pid: number;
  readonly parent: number;
  readonly command: string;
}

/** Lists the processes of this machine, without those that have ended and only wait to be collected. */
function processes(): readonly Process[] {
  const lines = execFileSync("ps", ["-eo", "pid=,ppid=,stat=,args="], { encoding: "utf8" });
  return lines.split("\n").flatMap((line) => {
    const [, pid, parent, state = "Z", command = ""] =
      /^ *(\d+) +(\d+) +(\S+) +(.*)$/.exec(line) ?? [];
    return state.startsWith("Z") ? [] : { pid: Number(pid), parent: Number(parent), command };
  });
}

function descendantsOf(pid: number, all = processes()): readonly Process[] {
  const children = all.filter(({ parent }) => parent === pid);
  return children.flatMap((child) => [child, ...descendantsOf(child.pid, all)]);
}

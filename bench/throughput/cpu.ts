import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";

/** CPU time in milliseconds. */
export type Cpu = number;

const TICK_MS = 1000 / Number(execFileSync("getconf", ["CLK_TCK"], { encoding: "utf8" }));
/** Position of the parent's id in /proc/{pid}/stat, counted from 0 at the field after the command's name. */
const PARENT = 1;
/** Position of the user time in clock ticks, counted like `PARENT`. */
const USER_TICKS = 11;
/** Position of the system time in clock ticks, counted like `PARENT`. */
const SYSTEM_TICKS = 12;

/** Returns the CPU time, user and system, that these processes and all processes started by them have used. */
export function cpuMsOf(roots: readonly number[]): Cpu {
  const stats = new Map(
    readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .flatMap((name) => {
        const fields = statOf(name);
        return fields === null ? [] : [[Number(name), fields] as const];
      }),
  );
  const tree = new Set(roots);
  // In the list of processes a child may come before its parent.
  for (let size = 0; size !== tree.size;) {
    size = tree.size;
    for (const [pid, fields] of stats) if (tree.has(fields[PARENT] ?? 0)) tree.add(pid);
  }
  const ticks = [...tree].map((pid) => {
    const fields = stats.get(pid) ?? [];
    return (fields[USER_TICKS] ?? 0) + (fields[SYSTEM_TICKS] ?? 0);
  });
  return ticks.reduce((sum, each) => sum + each, 0) * TICK_MS;
}

/** Reads the numbers of /proc/{pid}/stat; null when the process has ended. */
function statOf(pid: string): readonly number[] | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name of the command may contain blanks and parentheses.
    return stat
      .slice(stat.lastIndexOf(")") + 2)
      .split(" ")
      .map(Number);
  } catch {
    return null;
  }
}

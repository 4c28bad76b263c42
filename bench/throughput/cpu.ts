import { readdirSync, readFileSync } from "node:fs";

/** CPU time in milliseconds. */
export type Cpu = number;

/** Position of the parent's id in /proc/{pid}/stat, counted from 0 at the field after the command's name. */
const PARENT = 1;
const NS_PER_MS = 1e6;

/**
 * Returns the CPU time that the running threads of these processes, and of all processes started by them, have used.
 * The scheduler counts it in nanoseconds, while /proc/{pid}/stat counts ticks of 10 ms, too coarse for short rounds.
 */
export function cpuMsOf(roots: readonly number[]): Cpu {
  const parents = new Map(
    readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .map((name) => [Number(name), parentOf(name)]),
  );
  const tree = new Set(roots);
  // In the list of processes a child may come before its parent.
  for (let size = 0; size !== tree.size;) {
    size = tree.size;
    for (const [pid, parent] of parents) if (tree.has(parent)) tree.add(pid);
  }
  return [...tree].flatMap(threadTimesMs).reduce((sum, each) => sum + each, 0);
}

/** Reads the id of a process's parent; 0 when the process has ended. */
function parentOf(pid: string): number {
  const stat = read(`/proc/${pid}/stat`);
  // The name of the command may contain blanks and parentheses.
  return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[PARENT] ?? 0);
}

/** Reads the CPU time of each thread of a process; none when the process has ended. */
function threadTimesMs(pid: number): readonly number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).map((thread) => {
      return Number(read(`/proc/${pid}/task/${thread}/schedstat`).split(" ")[0]) / NS_PER_MS;
    });
  } catch {
    return [];
  }
}

/** Reads a file of a process or thread; the text is empty when it has ended. */
function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

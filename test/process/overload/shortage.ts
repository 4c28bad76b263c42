import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { type Vars, Workerd } from "../harness/workerd.ts";

/**
 * Kind of a shortage: `file_size` limits files to so many bytes; `open_files` permits so many more files than
 * are open now.
 */
export interface Shortage {
  readonly what: "file_size" | "open_files";
  readonly left: number;
}

const FLAGS = { file_size: "--fsize", open_files: "--nofile" } as const;

/** Starts a relay in which a write beyond the size limit fails as on a full disk. */
export function startLimitable(vars: Vars): Promise<Workerd> {
  // Without a handler for the signal, such a write would end the process.
  return Workerd.start({ vars, wrapper: ["sh", "-c", 'trap "" XFSZ && exec "$@"', "sh"] });
}

/** Limits a running relay, which only Linux can do. @returns a function that restores the earlier limit. */
export function limit({ pid }: Workerd, { what, left }: Shortage): () => void {
  const prlimit = (...args: readonly string[]) =>
    execFileSync("prlimit", ["--pid", String(pid), ...args], { encoding: "utf8" }).trim();
  const set = (soft: string | number) => prlimit(`${FLAGS[what]}=${soft}:`);
  const before = prlimit(FLAGS[what], "--output=SOFT", "--noheadings", "--raw");
  const used = what === "open_files" ? readdirSync(`/proc/${pid}/fd`).length : 0;
  set(used + left);
  return () => set(before);
}

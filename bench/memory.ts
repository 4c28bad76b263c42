import { readFileSync } from "node:fs";

/** Returns the memory of a process that is resident, in bytes. */
export function residentBytesOf(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1_024;
}

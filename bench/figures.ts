import { existsSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";

const TMPFS = "/dev/shm";

/** True when this machine has tmpfs, a file system in memory, where storage needs no disk. */
export const HAS_TMPFS = existsSync(TMPFS);

/** Directory for measurements that are not to include the disk: tmpfs where there is one. */
export const FASTEST_DIRECTORY = HAS_TMPFS ? TMPFS : tmpdir();

const TMPFS_TYPE = 0x01021994;

/** Directory on a disk: the system's for temporary files, unless that is in memory. */
export const DISK_DIRECTORY = statfsSync(tmpdir()).type === TMPFS_TYPE ? "/var/tmp" : tmpdir();

/** Returns a quantile of the values, by the nearest rank; 0 when there are no values. @param q from 0 to 1. */
export function quantile(values: readonly number[], q: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(q * sorted.length) - 1)] ?? 0;
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

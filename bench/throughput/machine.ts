import { createRequire } from "node:module";
import { availableParallelism, cpus, loadavg, release, totalmem } from "node:os";
import { join } from "node:path";
import * as z from "zod";
import { redisVersion } from "./bullmq.ts";

/** Machine and time of a run. */
export interface Machine {
  readonly startedAt: Date;
  readonly hardware: string;
  readonly versions: string;
  /** Load averages of the last 1, 5 and 15 minutes before the run. */
  readonly load: readonly number[];
}

const Package = z.object({ version: z.string() });
const GIB = 1024 ** 3;

/** Describes this machine, at the beginning of a run. */
export function machineNow(): Machine {
  const cores = `${availableParallelism()} cores of ${cpus()[0]?.model ?? "an unknown processor"}`;
  const memory = `${Math.round(totalmem() / GIB)} GiB of memory`;
  const redis = redisVersion();
  const rivals = redis === null ? [] : [`BullMQ ${versionOf("bullmq")}`, `Redis ${redis}`];
  const versions = ["workerd", "wrangler"].map((name) => `${name} ${versionOf(name)}`);
  return {
    startedAt: new Date(),
    hardware: `${cores}, ${memory}, Linux ${release()}`,
    versions: [...versions, `Node ${process.versions.node}`, ...rivals].join(", "),
    load: loadavg(),
  };
}

function versionOf(name: string): string {
  const require = createRequire(join(import.meta.dirname, "../package.json"));
  return Package.parse(require(`${name}/package.json`)).version;
}

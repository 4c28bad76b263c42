import { createRequire } from "node:module";
import { availableParallelism } from "node:os";
import * as z from "zod";
import { bytesPerTask, type Sample, sampleAt } from "../load-memory.ts";
import { table } from "../markdown.ts";

/** Memory of one server during a run. */
export interface Measured {
  readonly name: string;
  /** Number of tasks that the server has accepted. */
  readonly accepted: number;
  readonly samples: readonly Sample[];
  /** Sample after some time without requests. */
  readonly quiet: Sample;
}

interface Run {
  readonly tasks: number;
  readonly ratePerS: number;
  readonly quietMs: number;
  readonly startedAt: Date;
}

const MIB = 1024 * 1024;
const QUARTERS = [0, 0.25, 0.5, 0.75, 1];

/** Returns the page that states the memory of the servers of one run. */
export function page(servers: readonly Measured[], run: Run): string {
  const { tasks, ratePerS, quietMs, startedAt } = run;
  const shares = QUARTERS.map((share) => Math.round(tasks * share));
  const head = [
    "server",
    ...shares.map((count) => (count === 0 ? "at the start" : `${count} tasks`)),
    `after ${quietMs / 1000} s of rest`,
    "KB per task",
    "at rest, KB per task",
    "accepted",
  ];
  const rows = servers.map((server) => [
    server.name,
    ...shares.map((count) => mib(sampleAt(server.samples, count) ?? server.samples.at(-1))),
    mib(server.quiet),
    kb(bytesPerTask(server.samples, tasks / 2)),
    kb(restingBytes(server)),
    String(server.accepted),
  ]);
  return `# Memory of one workerd

Written by \`npm run bench:memory\`, begun ${startedAt.toISOString()} on ${availableParallelism()} cores, with ${versions()}. Each server is a workerd of its own with its storage on the fastest file system, and the heap of its isolate limited to 128 MB as on Cloudflare. All get ${tasks} tasks at the same time, ${ratePerS} per second each, whose receiver answers at once. Resident memory (RSS) of the process in MiB.

${table(head, rows)}

"KB per task" is the slope over the second half of the tasks; "at rest" is the memory at the end, when all objects have left it, above that at the start, divided by the tasks: a process keeps what it once took, so that it grows by this for each task only where the quarters grow too. The relay keeps one alarm per task, which erases it after its retention. The bare Worker (\`bench/throughput/floor-worker.ts\`) stores one record and one alarm per object and sends one POST; what it takes is workerd's own. Without its alarm it shows how much of that is the alarm.
`;
}

function restingBytes({ samples, quiet, accepted }: Measured): number {
  return (quiet.rssBytes - (samples[0]?.rssBytes ?? 0)) / Math.max(1, accepted);
}

function versions(): string {
  const Package = z.object({ version: z.string() });
  const { version } = Package.parse(createRequire(import.meta.url)("workerd/package.json"));
  return `workerd ${version} and Node ${process.versions.node}`;
}

function mib(sample: Sample | undefined): string {
  return sample === undefined ? "–" : (sample.rssBytes / MIB).toFixed(0);
}

function kb(bytes: number): string {
  return (bytes / 1000).toFixed(1);
}

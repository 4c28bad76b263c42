import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { QUIET_ENV, ROOT, WRANGLER } from "../../test/process/harness/child.ts";
import { LOCAL_VARS } from "../../test/process/harness/client.ts";
import { freePort } from "../../test/process/harness/loopback.ts";
import { Workerd } from "../../test/process/harness/workerd.ts";
import { FASTEST_DIRECTORY } from "../figures.ts";
import { Receiver } from "../throughput/receiver.ts";
import { taskRound } from "../throughput/round.ts";
import type { Served } from "../throughput/server.ts";
import { eventOnly, plainEvent } from "../throughput/tasks.ts";
import { profiled } from "./inspector.ts";
import { grouped, partOf, timeByFile } from "./parts.ts";

// Shows where the CPU time of a task goes, in the relay and in the bare Worker of `npm run bench`, and writes
// it to `PROFILE.md` beside this folder: `npm run bench:profile`, about a minute. The profiler slows both
// down, so only the proportions of the figures are meaningful.

const FLOOR = join(import.meta.dirname, "../throughput/floor-worker.ts");
const LOAD = { connections: 32, forMs: 8_000 };
const FILES = 15;

type Times = ReadonlyMap<string, number>;

await using receiver = await Receiver.start();
const floor = await measured(FLOOR, plainEvent);
const relay = await measured(null, eventOnly);
const page = pageOf(floor, relay);
console.log(page);
await writeFile(join(import.meta.dirname, "../PROFILE.md"), page);

/** Returns the CPU time of a task by source file, in microseconds. @param entry null for the relay. */
async function measured(entry: string | null, tasks: Served["tasks"]): Promise<Times> {
  const script = await bundled(entry);
  const port = await freePort();
  const wrapper = ["sh", "-c", `exec "$0" "$@" -i127.0.0.1:${port}`];
  const options = { vars: LOCAL_VARS, script, wrapper, parent: FASTEST_DIRECTORY };
  await using server = await Workerd.start(options);
  const pids = server.pid === undefined ? [] : [server.pid];
  const served = { url: server.url, pids, tasks, [Symbol.asyncDispose]: async () => {} };
  await taskRound(served, receiver, LOAD);
  let done = 0;
  const profile = await profiled(port, async () => {
    done = (await taskRound(served, receiver, LOAD)).acceptMs.length;
  });
  return new Map([...timeByFile(profile, script)].map(([file, us]) => [file, us / done]));
}

/** Bundles a Worker without minifying it, so that the bundle names the source files. */
async function bundled(entry: string | null): Promise<string> {
  const outdir = await mkdtemp(join(tmpdir(), "task-relay-bundle-"));
  try {
    const args = ["-c", "wrangler.toml", "--dry-run", "--no-minify", "--outdir", outdir];
    const command = [WRANGLER, "deploy", ...(entry === null ? [] : [entry]), ...args];
    await promisify(execFile)(process.execPath, command, { cwd: ROOT, env: QUIET_ENV });
    const file = (await readdir(outdir)).find((name) => name.endsWith(".js")) ?? "";
    return await readFile(join(outdir, file), "utf8");
  } finally {
    await rm(outdir, { recursive: true, force: true });
  }
}

function pageOf(bare: Times, whole: Times): string {
  const [floorUs, relayUs] = [bare, whole].map((times) => Math.round(sum(times.values())));
  return `# Where the CPU time of a task goes

Written by \`npm run bench:profile\` on ${new Date().toISOString().slice(0, 10)}: a task that its event creates, with one delivered callback, at ${LOAD.connections} connections, storage in memory where the machine can. The profiler samples every 0.2 ms and slows everything down, so only proportions count: ${relayUs} µs for a task of the relay, ${floorUs} µs for the same callback by a bare Worker and object. The time in a call of the platform (storage, network, cryptography) counts for the file that makes it.

| part of the bare Worker | µs | of its whole |
| --- | ---: | ---: |
${rows(grouped(bare, partOf), floorUs)}

| part of the relay | µs | of its whole |
| --- | ---: | ---: |
${rows(grouped(whole, partOf), relayUs)}

| file of the relay | µs | of its whole |
| --- | ---: | ---: |
${rows(grouped(whole, (file) => file).slice(0, FILES), relayUs)}
`;
}

function rows(times: readonly (readonly [string, number])[], totalUs = 1): string {
  const row = ([name, us]: readonly [string, number]) =>
    `| ${name} | ${us.toFixed(0)} | ${((100 * us) / totalUs).toFixed(1)} % |`;
  return times.map(row).join("\n");
}

function sum(values: Iterable<number>): number {
  return Array.from(values).reduce((total, value) => total + value, 0);
}

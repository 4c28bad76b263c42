import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs, promisify } from "node:util";
import { QUIET_ENV, ROOT, WRANGLER } from "../../test/process/harness/child.ts";
import { LOCAL_VARS } from "../../test/process/harness/client.ts";
import { freePort } from "../../test/process/harness/loopback.ts";
import { Workerd } from "../../test/process/harness/workerd.ts";
import { FASTEST_DIRECTORY } from "../figures.ts";
import { writeResults } from "../page.ts";
import { machineNow } from "../throughput/machine.ts";
import { Receiver } from "../throughput/receiver.ts";
import { taskRound } from "../throughput/round.ts";
import type { Served } from "../throughput/server.ts";
import { eventOnly } from "../throughput/tasks.ts";
import { profiled } from "./inspector.ts";
import { page } from "./page.ts";
import { type Share, sharesOf } from "./profile.ts";

// Shows where the CPU time of a task goes, in the relay and in the floor with promises of `npm run bench`, and writes
// it to `PROFILE.md` beside this folder: `npm run bench:profile`, a minute and a half. `-- --print` writes no file.

const FLOOR = join(import.meta.dirname, "../throughput/promises-worker.ts");
const WARM_UP = { connections: 32, forMs: 6_000 };
const LOAD = { connections: 32, forMs: 4_000 };
const ROUNDS = 6;
/** Without this option, a function that was inlined when the profile began counts for the one that calls it. */
const V8_FLAGS = ["--detailed-line-info"];

/** A running server, and what its profiles have shown. */
interface Subject {
  readonly served: Served;
  readonly script: string;
  /** Port of the inspector. */
  readonly port: number;
  readonly profiles: (readonly Share[])[];
  tasks: number;
}

const { values } = parseArgs({ options: { print: { type: "boolean", default: false } } });
await using stack = new AsyncDisposableStack();
const machine = machineNow();
const receiver = stack.use(await Receiver.start());
const floor = await started(FLOOR);
const relay = await started(null);
for (const { served } of [floor, relay]) await taskRound(served, receiver, WARM_UP);
for (let round = 0; round < ROUNDS; round++) {
  for (const subject of round % 2 === 0 ? [floor, relay] : [relay, floor]) await measure(subject);
}
const measured = { floor: perTask(floor), relay: perTask(relay) };
const { connections } = LOAD;
const text = page(measured, { machine, connections, rounds: ROUNDS });
if (values.print) console.log(text);
else writeResults("PROFILE.md", text);

/** Starts a Worker with an inspector, which uses the connections that workerd keeps. @param entry null for the relay. */
async function started(entry: string | null): Promise<Subject> {
  const script = await bundled(entry);
  const port = await freePort();
  const wrapper = ["sh", "-c", `exec "$0" "$@" -i127.0.0.1:${port}`];
  const lacking = { hasNewConnections: false, hasIndex: false };
  const options = { vars: LOCAL_VARS, wrapper, v8Flags: V8_FLAGS, script, ...lacking };
  const server = stack.use(await Workerd.start({ ...options, parent: FASTEST_DIRECTORY }));
  const pids = server.pid === undefined ? [] : [server.pid];
  const stop = { [Symbol.asyncDispose]: async () => {} };
  const served = { url: server.url, pids, tasks: eventOnly, ...stop };
  return { served, script, port, profiles: [], tasks: 0 };
}

async function measure(subject: Subject): Promise<void> {
  const { port, profiles, script, served } = subject;
  const profile = await profiled(port, async () => {
    subject.tasks += (await taskRound(served, receiver, LOAD)).acceptMs.length;
  });
  profiles.push(sharesOf(profile, script));
}

/** Returns the shares of all profiles, divided by the number of tasks. */
function perTask({ profiles, tasks }: Subject): readonly Share[] {
  const shares = Map.groupBy(profiles.flat(), ({ activity, name }) => `${activity} ${name}`);
  return [...shares.values()].flatMap((same) => {
    const us = same.reduce((sum, share) => sum + share.us, 0) / tasks;
    return same.slice(0, 1).map((share) => ({ ...share, us }));
  });
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

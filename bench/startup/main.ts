import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { LOCAL_VARS, OPERATOR_KEY } from "../../test/process/harness/client.ts";
import { Workerd, type WorkerdOptions } from "../../test/process/harness/workerd.ts";
import { FASTEST_DIRECTORY } from "../figures.ts";
import { machineNow } from "../throughput/machine.ts";
import { type Contender, page, type Start } from "./page.ts";

// Measures the CPU time of the start of a Worker and of its first request, a registration with a key, with the
// relay and with a bare Worker beside it, and writes bench/STARTUP.md: `npm run bench -- --startup`, about two
// minutes. Each process answers two requests, the second to show what the first had to prepare.

const PROCESSES = 30;
/** Time in milliseconds without work after which the threads of a process have nothing left to do. */
const SETTLE_MS = 400;
const PAGE = join(import.meta.dirname, "../STARTUP.md");
const NS_PER_MS = 1e6;

const OPTIONS: Readonly<Record<Contender, WorkerdOptions>> = {
  bare: { vars: {}, entry: join(import.meta.dirname, "bare-worker.ts") },
  relay: { vars: LOCAL_VARS },
};
const machine = machineNow();
const starts: Record<Contender, Start[]> = { bare: [], relay: [] };
for (let i = 0; i < PROCESSES; i++) {
  // The order alternates, so that neither is always measured on a warmer machine.
  const order: readonly Contender[] = i % 2 === 0 ? ["bare", "relay"] : ["relay", "bare"];
  for (const contender of order) starts[contender].push(await start(OPTIONS[contender]));
}
const text = page(starts, machine);
console.log(text);
writeFileSync(PAGE, text);

/** Starts a fresh process and measures it. */
async function start(options: WorkerdOptions): Promise<Start> {
  const isAsked = false;
  await using server = await Workerd.start({ ...options, parent: FASTEST_DIRECTORY, isAsked });
  const { pid } = server;
  if (pid === undefined) throw new Error("workerd has no process id");
  await sleep(SETTLE_MS);
  const startMs = cpuMsOf(pid);
  const firstMs = await requestMs(server.url, pid);
  const secondMs = await requestMs(server.url, pid);
  return { startMs, firstMs, secondMs };
}

/** Registers a task. @returns the CPU time of the process until it rests again, in milliseconds. */
async function requestMs(url: string, pid: number): Promise<number> {
  const before = cpuMsOf(pid);
  const answer = await fetch(`${url}/v1/tasks`, {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: `Bearer ${OPERATOR_KEY}` },
    body: JSON.stringify({ model: "seedance-1-0-pro" }),
  });
  await answer.arrayBuffer();
  if (answer.status !== 201) throw new Error(`the registration was answered with ${answer.status}`);
  await sleep(SETTLE_MS);
  return cpuMsOf(pid) - before;
}

/** Returns the CPU time of all threads of a process, in milliseconds (`schedstat` counts nanoseconds). */
function cpuMsOf(pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`);
  const ns = threads.map((thread) => {
    const stat = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8");
    return Number(stat.split(" ")[0]);
  });
  return ns.reduce((sum, each) => sum + each, 0) / NS_PER_MS;
}

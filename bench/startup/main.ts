import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { LOCAL_VARS, OPERATOR_KEY } from "../../test/process/harness/client.ts";
import { Workerd, type WorkerdOptions } from "../../test/process/harness/workerd.ts";
import { FASTEST_DIRECTORY } from "../figures.ts";
import { writeResults } from "../page.ts";
import { machineNow } from "../throughput/machine.ts";
import { areLimitsKept, type Contender, page, PAGES, type PagePath, type Start } from "./page.ts";

// Measures the CPU time of the start of a Worker and of its first request, a registration with a key, with the
// relay and with a bare Worker beside it, and of the first request for a page of the console, and writes
// bench/STARTUP.md: `npm run bench -- --startup`, about four minutes. Each process answers two requests, the second to
// show what the first had to prepare. Ends with exit code 1 where a limit is missed.

const PROCESSES = 30;
const PROCESSES_PER_PAGE = 12;
/** Time in milliseconds without work after which the threads of a process have nothing left to do. */
const SETTLE_MS = 400;
/** CPU time in milliseconds that the threads of a resting process may take during `SETTLE_MS`. */
const REST_MS = 0.2;
const NS_PER_MS = 1e6;

/** Without the other Worker of the process, and without an index. */
const ALONE = { hasNewConnections: false, hasIndex: false };
const OPTIONS: Readonly<Record<Contender, WorkerdOptions>> = {
  bare: { ...ALONE, vars: {}, entry: join(import.meta.dirname, "bare-worker.ts") },
  relay: { ...ALONE, vars: LOCAL_VARS },
};
const machine = machineNow();
const starts: Record<Contender, Start[]> = { bare: [], relay: [] };
for (let i = 0; i < PROCESSES; i++) {
  // The order alternates, so that neither is always measured on a warmer machine.
  const order: readonly Contender[] = i % 2 === 0 ? ["bare", "relay"] : ["relay", "bare"];
  for (const contender of order) starts[contender].push(await start(OPTIONS[contender]));
}
const session = await logIn();
const pages: Record<PagePath, Start[]> = {
  "/": [],
  "/tasks": [],
  "/providers": [],
  "/login": [],
};
for (let i = 0; i < PROCESSES_PER_PAGE; i++) {
  for (const path of PAGES) {
    pages[path].push(await start(OPTIONS.relay, (url) => visit(`${url}${path}`)));
  }
}
writeResults("STARTUP.md", page(starts, pages, machine));
if (!areLimitsKept(starts)) process.exitCode = 1;

/** Starts a fresh process and measures it. */
async function start(
  options: WorkerdOptions,
  ask: (url: string) => Promise<void> = register,
): Promise<Start> {
  const isAsked = false;
  await using server = await Workerd.start({ ...options, parent: FASTEST_DIRECTORY, isAsked });
  const { pid } = server;
  if (pid === undefined) throw new Error("workerd has no process id");
  const startMs = await restingMs(pid);
  const firstMs = await requestMs(() => ask(server.url), pid);
  const secondMs = await requestMs(() => ask(server.url), pid);
  return { startMs, firstMs, secondMs };
}

/** Makes a request. @returns the CPU time of the process until it rests again, in milliseconds. */
async function requestMs(ask: () => Promise<void>, pid: number): Promise<number> {
  const before = cpuMsOf(pid);
  await ask();
  return (await restingMs(pid)) - before;
}

/** Registers a task. */
async function register(url: string): Promise<void> {
  const answer = await fetch(`${url}/v1/tasks`, {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: `Bearer ${OPERATOR_KEY}` },
    body: JSON.stringify({ model: "seedance-1-0-pro" }),
  });
  await answer.arrayBuffer();
  if (answer.status !== 201) throw new Error(`the registration was answered with ${answer.status}`);
}

/** Requests a page of the console, uncompressed: on Cloudflare the Worker does not compress. */
async function visit(url: string): Promise<void> {
  const Cookie = `task-relay-session-${new URL(url).port}=${session}`;
  const headers = { Accept: "text/html", "Accept-Encoding": "identity", Cookie };
  const answer = await fetch(url, { headers, redirect: "manual" });
  await answer.arrayBuffer();
  // A page that needs the index says so (501), and the login leads on who is logged in (303).
  if (![200, 303, 501].includes(answer.status)) throw new Error(`${url} answered ${answer.status}`);
}

/** Logs in to the console. @returns the value of the session cookie, which all relays with these variables accept. */
async function logIn(): Promise<string> {
  await using server = await Workerd.start({ ...OPTIONS.relay, parent: FASTEST_DIRECTORY });
  const answer = await fetch(`${server.url}/login`, {
    method: "POST",
    headers: { Origin: server.url, "Sec-Fetch-Site": "same-origin", Accept: "text/html" },
    body: new URLSearchParams({ key: OPERATOR_KEY }),
    redirect: "manual",
  });
  const [, value] = /=([^;]+)/.exec(answer.headers.get("Set-Cookie") ?? "") ?? [];
  if (value === undefined) throw new Error(`the login was answered with ${answer.status}`);
  return value;
}

/** Waits until a process rests, also on a busy machine. @returns its CPU time until then, in milliseconds. */
async function restingMs(pid: number): Promise<number> {
  for (let before = -Infinity; ;) {
    const now = cpuMsOf(pid);
    if (now - before < REST_MS) return now;
    before = now;
    await sleep(SETTLE_MS);
  }
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

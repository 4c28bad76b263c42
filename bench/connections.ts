import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { completedEvent, LOCAL_VARS } from "../test/process/harness/client.ts";
import { bodyOf, LoopbackServer } from "../test/process/harness/loopback.ts";
import { Workerd } from "../test/process/harness/workerd.ts";
import { ARK_MODEL, ARK_TASKS } from "../test/process/submit/fake-ark.ts";
import { quantile } from "./figures.ts";
import { MemoryLog } from "./load-memory.ts";
import { table } from "./page.ts";
import { cpuMsOf } from "./throughput/cpu.ts";

// Compares a relay that sends what changes something on new connections with one that reuses those that workerd keeps:
// `npm run bench:connections`, five minutes. It counts the requests that are lost at hosts that close idle connections
// after 2 or 5 seconds, with a call every 2 or 5 seconds, and measures the CPU time of a task whose callback is
// delivered, and the memory of the process at the end.

const HOSTS = 20;
const CALLS = 12;
/** Time in milliseconds that Node waits longer than `keepAliveTimeout` before it closes an idle connection. */
const NODE_GRACE_MS = 1_000;
/** The calls come from this much before the close of the connection to 20 ms after it. */
const EARLIEST_MS = 60;
const STEP_MS = 10;
const STEPS = 9;
const ROUNDS = 6;
const TASKS = 200;
const SENDERS = 8;
const BYTES_PER_MB = 1e6;

/** A server that keeps the bodies that it has read, and closes connections that were idle for a while. */
class Host extends LoopbackServer {
  readonly bodies: string[] = [];

  private constructor(closesAfterMs: number) {
    super(async (request, response) => {
      this.bodies.push((await bodyOf(request)) ?? "");
      response.end('{"id": "cgt-1"}');
    }, closesAfterMs - NODE_GRACE_MS);
  }

  static async start(closesAfterMs: number): Promise<Host> {
    return new Host(closesAfterMs).listen();
  }
}

const rows: string[][] = [];
for (const hasNewConnections of [false, true]) {
  for (const closesAfterMs of [2_000, 5_000]) {
    rows.push([nameOf(hasNewConnections), ...(await losses(hasNewConnections, closesAfterMs))]);
  }
}
console.log(
  table(["connections", "host closes after", "submissions lost", "callbacks lost"], rows),
);
console.log(table(["connections", "CPU time of a task, ms", "memory, MB"], await costs()));

function nameOf(hasNewConnections: boolean): string {
  return hasNewConnections ? "new" : "kept by workerd";
}

/** Returns how many submissions and callbacks did not reach hosts that close connections after this time. */
async function losses(hasNewConnections: boolean, closesAfterMs: number): Promise<string[]> {
  await using stack = new AsyncDisposableStack();
  const started = () => Array.from({ length: HOSTS }, () => Host.start(closesAfterMs));
  const upstreams = (await Promise.all(started())).map((host) => stack.use(host));
  const receivers = (await Promise.all(started())).map((host) => stack.use(host));
  const connections = upstreams.map(({ origin }, i) => {
    return [`ark${i}`, { provider: "ark", base_url: origin, key: "benchmark-key" }];
  });
  const vars = { ...LOCAL_VARS, CONNECTIONS: JSON.stringify(Object.fromEntries(connections)) };
  const { client } = stack.use(await Workerd.start({ vars, hasNewConnections, hasIndex: false }));
  const send = async (path: string, body: object, key: string) => {
    const headers = path === "/v1/events" ? {} : { "Idempotency-Key": key };
    await (await client.send("POST", path, body, { headers })).text();
  };
  const submissions = upstreams.map((host, i) => async (name: string) => {
    const body = { model: ARK_MODEL, content: [{ type: "text", text: name }] };
    await send(`/v1/submit/ark${i}${ARK_TASKS}`, body, name);
    return host;
  });
  const callbacks = receivers.map((host) => async (name: string) => {
    await send("/v1/events", completedEvent(name, host.origin), name);
    return host;
  });
  const lost = await Promise.all(
    [...submissions, ...callbacks].map((call, i) => lostInRhythm(call, i, closesAfterMs)),
  );
  const sums = [lost.slice(0, HOSTS), lost.slice(HOSTS)].map((each) =>
    each.reduce((a, b) => a + b),
  );
  return [`${closesAfterMs / 1_000} s`, ...sums.map((sum) => `${sum} of ${HOSTS * CALLS}`)];
}

/**
 * Makes calls at times at which the host is closing the connection of the call before.
 * @param call makes a call with this name in its body, and returns its host.
 * @returns how many calls the host has not read.
 */
async function lostInRhythm(
  call: (name: string) => Promise<Host>,
  nth: number,
  closesAfterMs: number,
): Promise<number> {
  await sleep((closesAfterMs / HOSTS / 2) * nth);
  let lost = 0;
  for (let i = 0; i < CALLS; i += 1) {
    const name = randomUUID();
    const { bodies } = await call(name);
    await sleep(closesAfterMs - EARLIEST_MS + STEP_MS * ((7 * i + nth) % STEPS));
    if (!bodies.some((body) => body.includes(name))) lost += 1;
  }
  return lost;
}

/** Returns the CPU time and memory of a relay without and of one with new connections, measured in turns. */
async function costs(): Promise<string[][]> {
  await using stack = new AsyncDisposableStack();
  const host = stack.use(await Host.start(600_000));
  const relays = [];
  for (const hasNewConnections of [false, true]) {
    const options = { vars: LOCAL_VARS, hasNewConnections, hasIndex: false };
    const relay = stack.use(await Workerd.start(options));
    relays.push({ relay, name: nameOf(hasNewConnections), times: new Array<number>() });
  }
  for (let round = 0; round <= ROUNDS; round += 1) {
    for (const { relay, times } of round % 2 === 0 ? relays : relays.toReversed()) {
      const time = await cpuMsOfTask(relay, host);
      // The first round only warms up.
      if (round > 0) times.push(time);
    }
  }
  return relays.map(({ relay, name, times }) => {
    const [low, middle, high] = [0.25, 0.5, 0.75].map((q) => quantile(times, q).toFixed(2));
    using memory = new MemoryLog(relay.pid ?? 0, () => TASKS);
    const rssMb = memory.sample().rssBytes / BYTES_PER_MB;
    return [name, `${middle} (${low} to ${high} in half of the rounds)`, rssMb.toFixed(0)];
  });
}

async function cpuMsOfTask({ pid = 0, client }: Workerd, host: Host): Promise<number> {
  const [cpuBefore, callsBefore] = [cpuMsOf([pid]), host.bodies.length];
  let next = 0;
  const sender = async () => {
    while (next++ < TASKS) await client.finish(host.origin);
  };
  await Promise.all(Array.from({ length: SENDERS }, sender));
  while (host.bodies.length - callsBefore < TASKS) await sleep(20);
  return (cpuMsOf([pid]) - cpuBefore) / TASKS;
}

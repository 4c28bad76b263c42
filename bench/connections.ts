import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { completedEvent, LOCAL_VARS } from "../test/process/harness/client.ts";
import { bodyOf, LoopbackServer } from "../test/process/harness/loopback.ts";
import { Workerd } from "../test/process/harness/workerd.ts";
import { ARK_MODEL, ARK_TASKS } from "../test/process/submit/fake-ark.ts";
import { quantile } from "./figures.ts";
import { table } from "./page.ts";
import { cpuMsOf } from "./throughput/cpu.ts";

// Compares a relay that sends what changes something on new connections with one that reuses those that workerd keeps:
// `npm run bench:connections`, five minutes. It counts the requests that are lost at hosts that close idle connections
// after 2 or 5 seconds, with a call every 2 or 5 seconds, and measures the CPU time of a task whose callback is
// delivered.

const HOSTS = 20;
const CALLS = 12;
/** Time in milliseconds that Node waits longer than `keepAliveTimeout` before it closes an idle connection. */
const NODE_GRACE_MS = 1_000;
/** The calls come from this much before the close of the connection to 20 ms after it. */
const EARLIEST_MS = 60;
const STEP_MS = 10;
const STEPS = 9;
const ROUNDS = 8;
const TASKS = 300;
const SENDERS = 8;

/** A server that counts the POSTs that it has read, and closes connections that were idle for a while. */
class Host extends LoopbackServer {
  posts = 0;

  private constructor(closesAfterMs: number) {
    super(async (request, response) => {
      await bodyOf(request);
      if (request.method === "POST") this.posts += 1;
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
console.log(table(["connections", "CPU time of a task, ms"], await cpuTimes()));

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
  const { client } = stack.use(await Workerd.start({ vars, hasNewConnections }));
  const body = { model: ARK_MODEL, content: [{ type: "text", text: "a fox" }] };
  const send = async (path: string, sent: object) => {
    const headers = { "Idempotency-Key": randomUUID() };
    await (await client.send("POST", path, sent, path === "/v1/events" ? {} : { headers })).text();
  };
  const rhythms = [
    ...upstreams.map((_, i) => () => send(`/v1/submit/ark${i}${ARK_TASKS}`, body)),
    ...receivers.map(
      ({ origin }) =>
        () =>
          send("/v1/events", completedEvent(randomUUID(), origin)),
    ),
  ];
  await Promise.all(rhythms.map((call, i) => inRhythm(call, i, closesAfterMs)));
  return [`${closesAfterMs / 1_000} s`, lostAt(upstreams), lostAt(receivers)];
}

/** Makes calls at times at which the host is closing the connection of the call before. */
async function inRhythm(call: () => Promise<void>, nth: number, closesAfterMs: number) {
  await sleep((closesAfterMs / HOSTS / 2) * nth);
  for (let i = 0; i < CALLS; i += 1) {
    await call();
    await sleep(closesAfterMs - EARLIEST_MS + STEP_MS * ((7 * i + nth) % STEPS));
  }
}

function lostAt(hosts: readonly Host[]): string {
  const sent = CALLS * hosts.length;
  return `${sent - hosts.reduce((sum, { posts }) => sum + posts, 0)} of ${sent}`;
}

/** Returns the CPU times of a relay without and of one with new connections, measured in turns. */
async function cpuTimes(): Promise<string[][]> {
  await using stack = new AsyncDisposableStack();
  const host = stack.use(await Host.start(600_000));
  const relays = [];
  for (const hasNewConnections of [false, true]) {
    const relay = stack.use(await Workerd.start({ vars: LOCAL_VARS, hasNewConnections }));
    relays.push({ relay, name: nameOf(hasNewConnections), times: new Array<number>() });
  }
  for (let round = 0; round <= ROUNDS; round += 1) {
    for (const { relay, times } of round % 2 === 0 ? relays : relays.toReversed()) {
      const time = await cpuMsOfTask(relay, host);
      // The first round only warms up.
      if (round > 0) times.push(time);
    }
  }
  return relays.map(({ name, times }) => {
    const [low, middle, high] = [0.25, 0.5, 0.75].map((q) => quantile(times, q).toFixed(2));
    return [name, `${middle} (${low} to ${high} in half of ${ROUNDS} rounds)`];
  });
}

async function cpuMsOfTask({ pid = 0, client }: Workerd, host: Host): Promise<number> {
  const [cpuBefore, postsBefore] = [cpuMsOf([pid]), host.posts];
  let next = 0;
  const sender = async () => {
    while (next++ < TASKS) await client.finish(host.origin);
  };
  await Promise.all(Array.from({ length: SENDERS }, sender));
  while (host.posts - postsBefore < TASKS) await sleep(20);
  return (cpuMsOf([pid]) - cpuBefore) / TASKS;
}

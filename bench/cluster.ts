import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import pMap from "p-map";
import { request } from "undici";
import { completedEvent, OPERATOR_KEY } from "../test/process/harness/client.ts";
import { LoopbackServer } from "../test/process/harness/loopback.ts";
import { Cluster } from "../test/process/self-host/cluster.ts";
import { FASTEST_DIRECTORY, quantile } from "./figures.ts";

// Measures a cluster by its number of nodes and by how soon its store answers: `npm run bench:cluster`, about two minutes. The
// store (versitygw), all nodes, the receiver and who sends the events share this machine. Files are in memory where there
// is tmpfs.

const TASKS = 300;
const WARM_TASKS = 50;
/** More let the lease of a node lapse on two busy cores, whose store then answers too late. */
const CONCURRENCY = 16;
/** Number of nodes, and the shortest time in milliseconds in which the store answers. */
const PLACES = [
  [1, 0],
  [2, 0],
  [3, 0],
  [2, 20],
  [2, 50],
] as const;
/** Time in milliseconds over which requests of idle nodes are counted, and within which all changes reach the store. */
const IDLE_MS = 6_000;
const LOOK_EVERY_MS = 10;
const METHODS = ["PUT", "GET", "DELETE"] as const;

console.log(`${TASKS} events, ${CONCURRENCY} at a time`);
for (const [nodes, delayMs] of PLACES) await measure(nodes, delayMs);

async function measure(nodes: number, delayMs: number): Promise<void> {
  const called = new Set<string>();
  await using receiver = await new LoopbackServer((post, response) => {
    post.resume();
    called.add(post.url ?? "");
    response.writeHead(204).end();
  }).listen();
  await using cluster = await Cluster.start(nodes, {
    hasProxy: false,
    parent: FASTEST_DIRECTORY,
  });
  const { counts } = cluster.storeFront;
  cluster.storeFront.delayMs = delayMs;
  const send = (index: number) =>
    report(cluster.nodes[index % nodes]?.url ?? "", `${receiver.origin}/${index}`);
  await run(WARM_TASKS);
  await sleep(IDLE_MS);
  counts.clear();
  await sleep(IDLE_MS);
  const idle = new Map(counts);
  counts.clear();
  const startedAt = performance.now();
  const answeredMs = await run(TASKS).catch((error: unknown) => {
    const outputs = cluster.nodes.map(({ name, output }) => `${name}:\n${output}`);
    throw new Error(`a node has ended:\n${outputs.join("\n")}`, { cause: error });
  });
  const ms = performance.now() - startedAt;
  await sleep(IDLE_MS);
  const idlePeriods = (ms + IDLE_MS) / IDLE_MS;
  const perTask = METHODS.map((method) => {
    const count = (counts.get(method) ?? 0) - (idle.get(method) ?? 0) * idlePeriods;
    return `${(count / TASKS).toFixed(1)} ${method}s`;
  });
  console.log(
    `${nodes} nodes, store not before ${delayMs} ms: ${((TASKS * 1_000) / ms).toFixed(0)} tasks/s, ` +
      `events answered in p50 ${quantile(answeredMs, 0.5).toFixed(0)} ms, p99 ${quantile(answeredMs, 0.99).toFixed(0)} ms; ` +
      `each task ${perTask.join(", ")}`,
  );

  /** Reports so many tasks, and waits until their callbacks have arrived. @returns the times of the answers. */
  async function run(count: number): Promise<number[]> {
    called.clear();
    const times = await pMap(Array(count).keys(), send, { concurrency: CONCURRENCY });
    while (called.size < count) await sleep(LOOK_EVERY_MS);
    return times;
  }
}

/** Reports a completed task. @returns the time until the answer in milliseconds. */
async function report(url: string, callbackUrl: string): Promise<number> {
  const startedAt = performance.now();
  const { statusCode, body } = await request(`${url}/v1/events`, {
    method: "POST",
    headers: { Authorization: `Bearer ${OPERATOR_KEY}`, "Content-Type": "application/json" },
    body: JSON.stringify(completedEvent(randomUUID(), callbackUrl)),
  });
  const text = await body.text();
  if (statusCode !== 202) throw new Error(`the event was answered with ${statusCode}: ${text}`);
  return performance.now() - startedAt;
}

import { randomUUID } from "node:crypto";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import * as z from "zod";
import { Caller } from "../chaos/caller.ts";
import { Child } from "../harness/child.ts";
import { Client, completedEvent, OPERATOR_KEY } from "../harness/client.ts";
import { skipWithout } from "../harness/program.ts";
import { type Behaviour, Receiver } from "../harness/receiver.ts";
import { CLUSTER_PROGRAMS } from "../harness/relay.ts";
import { Cluster } from "./cluster.ts";

const UP: Behaviour = { kind: "answer", status: 204 };
/** Longest time in milliseconds after the death of a node until another one answers for its tasks. */
const FAILOVER_MS = 40_000;

it("in a cluster of three nodes behind the proxy of ops/haproxy.cfg, restarting one after the other by SIGTERM and /ready loses no request: each is answered, on a busy machine with 503 until it is repeated, and each callback is delivered once", async ({
  skip,
}) => {
  skipWithout(CLUSTER_PROGRAMS, skip);
  await using cluster = await Cluster.start(3);
  await using receiver = await Receiver.start();
  const client = new Client(cluster);
  const caller = new Caller(client);
  const ids: string[] = [];
  const restarts = new AbortController();
  const work = async () => {
    while (!restarts.signal.aborted) {
      const id = randomUUID();
      const body = completedEvent(id, receiver.at(`/${id}`, UP));
      await caller.ask({ method: "POST", path: "/v1/events", body }, [202], [200]);
      ids.push(id);
      await caller.ask({ method: "GET", path: `/v1/tasks/${id}` }, [200]);
      await sleep(50);
    }
  };
  const working = [work(), work(), work()];
  for (const node of cluster.nodes) {
    await node.stop();
    expect(node.exitCode).toBe(0);
    await node.start();
    // The proxy needs two answers of /ready, a second apart.
    await sleep(3_000);
  }
  restarts.abort();
  await Promise.all(working);
  // No connection was refused or lost.
  expect(caller.repeats).toBe(caller.statuses.get(503) ?? 0);
  for (const id of ids) {
    expect((await client.settled(id)).callback).toMatchObject({ status: "delivered" });
    expect(receiver.postsAt(`/${id}`)).toHaveLength(1);
  }
});

it("after kill -9 of a node, the other node answers for all its tasks, lists them and sends their callbacks, and after the loss of all disks the cluster goes on from its bucket", async ({
  skip,
}) => {
  skipWithout(CLUSTER_PROGRAMS, skip);
  await using cluster = await Cluster.start(2);
  await using receiver = await Receiver.start();
  const [first, second] = cluster.nodes;
  if (first === undefined || second === undefined) throw new Error("expected two nodes");
  const down: Behaviour = { kind: "answer", status: 500 };
  const ids: string[] = [];
  for (let i = 0; i < 20; i++) {
    const id = randomUUID();
    ids.push(await new Client(first).finish(receiver.at(`/${id}`, down, UP), id));
  }
  await first.kill9();
  const survivor = new Client(second);
  for (const id of ids) {
    await answered(survivor, id);
    expect((await survivor.settled(id)).callback).toMatchObject({ status: "delivered" });
  }
  await listed(survivor, ids);
  await second.kill9();
  for (const { disk } of cluster.nodes) rmSync(disk, { recursive: true });
  await Promise.all(cluster.nodes.map((node) => node.start()));
  const client = new Client(cluster);
  for (const id of ids) {
    await answered(client, id);
    expect((await client.read(id)).callback).toMatchObject({ status: "delivered" });
  }
  await listed(client, ids);
});

/** Waits until lists have all these tasks. */
async function listed(client: Client, ids: readonly string[]): Promise<void> {
  const missing = async () => {
    const { status } = await client.send("GET", "/v1/tasks?limit=1");
    const found =
      status === 200 ? await client.list("/v1/tasks", z.object({ id: z.string() })) : [];
    const known = new Set(found.map(({ id }) => id));
    return ids.filter((id) => !known.has(id));
  };
  await expect.poll(missing, { timeout: FAILOVER_MS, interval: 500 }).toEqual([]);
}

/** Waits until a relay answers for a task. */
async function answered(client: Client, id: string): Promise<void> {
  const giveUpAt = Date.now() + FAILOVER_MS;
  for (;;) {
    const { status } = await client.send("GET", `/v1/tasks/${id}`);
    if (status === 200) return;
    if (Date.now() > giveUpAt) throw new Error(`${id} is answered with ${status}`);
    await sleep(500);
  }
}

it("a node refuses to start, and says why, with a wrong key of the store, without a bucket, with a bucket that ignores conditions of writes, with a short or missing key of the cluster, and on a disk that has tasks from before", async ({
  skip,
}) => {
  skipWithout(CLUSTER_PROGRAMS, skip);
  await using cluster = await Cluster.start(1);
  const [node] = cluster.nodes;
  if (node === undefined) throw new Error("expected a node");
  await node.stop();
  const refusal = async (...launch: Parameters<typeof node.launch>) => {
    const child = node.launch(...launch);
    await child.ended();
    expect(child.exitCode).toBe(1);
    return child.output;
  };
  expect(await refusal({ AWS_SECRET_ACCESS_KEY: "wrong" })).toContain("403 SignatureDoesNotMatch");
  expect(await refusal({}, node.siteWith("cluster-bucket", "s3://none/cluster"))).toContain(
    "404 NoSuchBucket",
  );
  cluster.storeFront.ignoresConditions = true;
  expect(await refusal({}, node.siteWith("cluster-bucket", "s3://task-relay/other"))).toContain(
    "the bucket ignores conditional writes",
  );
  cluster.storeFront.ignoresConditions = false;
  expect(await refusal({}, node.siteWith("cluster-key", "short"))).toContain(
    "cluster.key must be at least 32 bytes",
  );
  expect(await refusal({}, node.siteWith("cluster-key", null))).toContain("/cluster-key");
  rmSync(node.disk, { recursive: true });
  mkdirSync(join(node.disk, "tasks"), { recursive: true });
  writeFileSync(join(node.disk, "tasks", "metadata.sqlite"), "");
  writeFileSync(join(node.disk, "tasks", `${"0".repeat(64)}.sqlite`), "");
  expect(await refusal()).toContain("holds Durable Objects from before cluster mode");
});

it("npm run doctor reports a problem with the index at a node with another cluster-key, which is ready, and none at the node that has the index", async ({
  skip,
}) => {
  skipWithout(CLUSTER_PROGRAMS, skip);
  await using cluster = await Cluster.start(2);
  const [first, second] = cluster.nodes;
  if (first === undefined || second === undefined) throw new Error("expected two nodes");
  await second.stop();
  // This has the first node take the index.
  expect(await indexFinding(first.url)).toMatch(/^ok +index: /);
  second.launch({}, second.siteWith("cluster-key", randomUUID()));
  await expect.poll(() => second.isReady(), { timeout: FAILOVER_MS }).toBe(true);
  expect(await indexFinding(first.url)).toMatch(/^ok +index: /);
  expect(await indexFinding(second.url)).toMatch(/^PROBLEM +index: .+ Cure: .+ cluster-key /);
});

/** Returns the first line about the index that `npm run doctor` prints about a node. */
async function indexFinding(url: string): Promise<string | undefined> {
  const env = { ...process.env, OPERATOR_KEY };
  const doctor = new Child(process.execPath, ["scripts/doctor.ts", "--url", url], env);
  await doctor.ended();
  return doctor.output.split("\n").find((line) => / index: /.test(line));
}

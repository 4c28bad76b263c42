import { rmSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { Cluster, Node } from "../../self-host/cluster.ts";
import type { Counters } from "../counters.ts";
import type { Supervisor } from "./supervisor.ts";

/** Shortest and longest time in milliseconds from the end of one harm to the next. */
const MIN_UP_MS = 1_000;
const MAX_UP_MS = 3_000;
/** Longest time in milliseconds until the supervisor starts a node again. */
const MAX_DOWN_MS = 2_000;
/** Time in milliseconds for which a node is missed; longer than its lease, after which the others have its objects. */
const MISSED_MS = 25_000;
/** Shortest and longest time in milliseconds for which the store is frozen while no node gives up. */
const MIN_FROZEN_MS = 2_000;
const MAX_FROZEN_MS = 6_000;
/** Time in milliseconds for which the store is slow, and the shortest time in which it answers then. */
const SLOW_MS = 6_000;
const SLOW_ANSWER_MS = 150;

/** A cluster that is harmed. */
export interface Harmed {
  readonly cluster: Cluster;
  readonly random: () => number;
  readonly counters: Counters;
  readonly supervisor: Supervisor;
}

type Harm = (harmed: Harmed) => Promise<void>;

/** The harms that a cluster meets in random order, each by the name of the figure that counts it. */
const HARMS: Readonly<Record<string, Harm>> = {
  "nodes killed": (harmed) => kill(harmed, one(harmed), harmed.random() * MAX_DOWN_MS),
  "nodes killed and missed": (harmed) => kill(harmed, one(harmed), MISSED_MS),
  "nodes terminated": async (harmed) => {
    const node = one(harmed);
    await harmed.supervisor.without([node], () => node.stop());
  },
  "store slow": async ({ cluster: { storeFront } }) => {
    storeFront.delayMs = SLOW_ANSWER_MS;
    await sleep(SLOW_MS);
    storeFront.delayMs = 0;
  },
  "store frozen": async ({ cluster, random }) => {
    cluster.signalStore("SIGSTOP");
    await sleep(MIN_FROZEN_MS + random() * (MAX_FROZEN_MS - MIN_FROZEN_MS));
    cluster.signalStore("SIGCONT");
  },
  "store frozen until all nodes gave up": async ({ cluster, supervisor }) => {
    cluster.signalStore("SIGSTOP");
    // Meanwhile the supervisor starts the nodes again that have ended, which ends them once more.
    await Promise.all(
      supervisor.nodes.map((node) => supervisor.without([node], () => node.ended())),
    ).finally(() => cluster.signalStore("SIGCONT"));
  },
  "all disks lost": ({ supervisor, counters }) => {
    const { nodes } = supervisor;
    counters.add("kills", nodes.length);
    return supervisor.without(nodes, async () => {
      await Promise.all(nodes.map((node) => node.kill9()));
      for (const { disk } of nodes) rmSync(disk, { recursive: true });
    });
  },
};

/** Takes a node away for good, after half of the other harms. */
const REMOVAL: [name: string, act: Harm] = [
  "nodes removed",
  (harmed) => harmed.supervisor.remove(one(harmed)),
];

/** Names of all harms. */
export const HARM_NAMES = [...Object.keys(HARMS), REMOVAL[0]];

/** Does each harm once, each when all nodes are ready again. */
export async function harm(harmed: Harmed): Promise<void> {
  const { random, counters, supervisor } = harmed;
  const drawn = Object.entries(HARMS).map((each) => ({ each, at: random() }));
  const order = drawn.toSorted((a, b) => a.at - b.at).map(({ each }) => each);
  for (const [name, act] of order.toSpliced(order.length / 2, 0, REMOVAL)) {
    await sleep(MIN_UP_MS + random() * (MAX_UP_MS - MIN_UP_MS));
    await act(harmed);
    counters.add(name);
    await supervisor.allReady();
  }
}

/** Kills a node, and keeps it down for a time. */
function kill({ supervisor, counters }: Harmed, node: Node, downMs: number): Promise<void> {
  counters.add("kills");
  return supervisor.without([node], async () => {
    await node.kill9();
    await sleep(downMs);
  });
}

/** Returns a random node. */
function one({ supervisor: { nodes }, random }: Harmed): Node {
  const node = nodes[Math.floor(random() * nodes.length)];
  if (node === undefined) throw new Error("the cluster has no nodes");
  return node;
}

import { setTimeout as sleep } from "node:timers/promises";
import type { Cluster, Node } from "../../self-host/cluster.ts";
import type { Counters } from "../counters.ts";

const LOOK_EVERY_MS = 200;
/** Longest time in milliseconds until all nodes are ready again. */
const READY_WITHIN_MS = 120_000;

/** Starts the nodes of a cluster again that have ended, as docs/cluster.md demands it of systemd or Compose. */
export class Supervisor implements AsyncDisposable {
  readonly #cluster: Cluster;
  readonly #counters: Counters;
  /** Nodes that are to stay down, those for good among them. */
  readonly #down = new Set<Node>();
  readonly #removed = new Set<Node>();
  #isOver = false;
  readonly #watching: Promise<unknown>;

  constructor(cluster: Cluster, counters: Counters) {
    this.#cluster = cluster;
    this.#counters = counters;
    this.#watching = Promise.all(cluster.nodes.map((node) => this.#watch(node)));
  }

  /** The nodes of the cluster, without those that were removed. */
  get nodes(): readonly Node[] {
    return this.#cluster.nodes.filter((node) => !this.#removed.has(node));
  }

  /** Starts none of these nodes again before `work` has ended, which ends them. */
  async without(nodes: readonly Node[], work: () => Promise<void>): Promise<void> {
    for (const node of nodes) this.#down.add(node);
    await work().finally(() => {
      for (const node of nodes) this.#down.delete(node);
    });
  }

  /** Ends a node with SIGTERM for good. */
  async remove(node: Node): Promise<void> {
    this.#down.add(node);
    this.#removed.add(node);
    await node.stop();
  }

  /** Waits until all nodes are ready. @throws with their output when they are not in time. */
  async allReady(): Promise<void> {
    const giveUpAt = Date.now() + READY_WITHIN_MS;
    for (const node of this.nodes) {
      while (!(await node.isReady())) {
        if (Date.now() > giveUpAt) throw new Error(`${node.name} is not ready:\n${node.output}`);
        await sleep(LOOK_EVERY_MS);
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    await this.#watching;
  }

  async #watch(node: Node): Promise<void> {
    for (; !this.#isOver; await sleep(LOOK_EVERY_MS)) {
      if (node.isAlive || this.#down.has(node)) continue;
      const { exitCode } = node;
      this.#counters.add(`nodes ended ${exitCode === null ? "by a signal" : `with ${exitCode}`}`);
      node.launch();
    }
  }
}

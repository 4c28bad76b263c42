import { setTimeout as sleep } from "node:timers/promises";
import { isLater } from "../chaos/caller.ts";
import { Cluster } from "../self-host/cluster.ts";
import { Client } from "./client.ts";
import { isInstalled } from "./program.ts";
import { S3_PROGRAM, S3Server } from "./s3-server.ts";
import { type Vars, Workerd } from "./workerd.ts";

/** Programs without which there is no cluster. */
export const CLUSTER_PROGRAMS = [S3_PROGRAM, "haproxy"];

/** A relay as its callers see it, whether one process answers them or several. */
export interface Relay extends AsyncDisposable {
  readonly url: string;
  readonly client: Client;
  /** The log of all its processes. */
  readonly output: string;
}

interface RelayOptions {
  readonly vars: Vars;
  /** True when the relay keeps outputs: one process in a bucket, a cluster in a store of its own; false by default. */
  readonly hasOutputs?: boolean;
}

/**
 * Starts a relay for a test that neither needs its files nor stops it: one process or, in the project `cluster` of
 * Vitest, two nodes as docs/cluster.md describes them, whose proxy sends each request to another one. Where a program for
 * that is missing, one process starts, and the tests are skipped (skip-without-cluster.ts).
 */
export async function startRelay({ vars, hasOutputs = false }: RelayOptions): Promise<Relay> {
  const isCluster = process.env["RELAY_NODES"] === "2" && CLUSTER_PROGRAMS.every(isInstalled);
  return isCluster ? startCluster(vars, hasOutputs) : Workerd.start({ vars, hasOutputs });
}

/** Number of times that a request is sent which is answered with 503, and the wait in milliseconds before the next time. */
const TRIES = 4;
const REPEAT_AFTER_MS = 2_000;

/** A client that repeats what nodes on a busy machine answer with 503, as this answer asks for. */
class RepeatingClient extends Client {
  override async send(...request: Parameters<Client["send"]>): Promise<Response> {
    for (let tries = 1; ; tries++) {
      const response = await super.send(...request);
      if (!isLater(response) || tries === TRIES) return response;
      await response.body?.cancel();
      await sleep(REPEAT_AFTER_MS);
    }
  }
}

async function startCluster(vars: Vars, hasOutputs: boolean): Promise<Relay> {
  await using stack = new AsyncDisposableStack();
  const store = hasOutputs ? stack.use(await S3Server.start()) : null;
  const cluster = stack.use(await Cluster.start(2, { vars: { ...store?.vars, ...vars } }));
  const servers = stack.move();
  return {
    url: cluster.url,
    client: new RepeatingClient(cluster),
    get output() {
      return cluster.nodes.map((node) => node.output).join("");
    },
    [Symbol.asyncDispose]: () => servers.disposeAsync(),
  };
}

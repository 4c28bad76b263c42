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

async function startCluster(vars: Vars, hasOutputs: boolean): Promise<Relay> {
  await using stack = new AsyncDisposableStack();
  const store = hasOutputs ? stack.use(await S3Server.start()) : null;
  const cluster = stack.use(await Cluster.start(2, { vars: { ...store?.vars, ...vars } }));
  const servers = stack.move();
  return {
    url: cluster.url,
    client: new Client(cluster),
    get output() {
      return cluster.nodes.map((node) => node.output).join("");
    },
    [Symbol.asyncDispose]: () => servers.disposeAsync(),
  };
}

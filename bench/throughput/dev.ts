import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LOCAL_VARS } from "../../test/process/harness/client.ts";
import { WranglerDev } from "../../test/process/harness/wrangler-dev.ts";
import { charged, eventOnly, openAccount, plainEvent } from "./tasks.ts";
import type { Served } from "./server.ts";

const WORKFLOW = `[[workflows]]
name = "callbacks"
binding = "CALLBACKS"
class_name = "CallbackWorkflow"
`;
const QUEUE = `[[queues.producers]]
binding = "CALLBACKS"
queue = "callbacks"

[[queues.consumers]]
queue = "callbacks"
max_batch_size = 100
max_batch_timeout = 0
max_retries = 2
`;

/** Starts the relay without its index under `wrangler dev`. @param parent directory of its storage. */
export async function startDevRelay(parent: string): Promise<Served> {
  const dev = await WranglerDev.start({ vars: LOCAL_VARS, parent, hasIndex: false });
  return served(dev, eventOnly);
}

/** Starts the relay with its index under `wrangler dev`; its tasks are charged to an account. */
export async function startIndexedRelay(parent: string): Promise<Served> {
  const dev = await WranglerDev.start({ vars: LOCAL_VARS, parent });
  await openAccount(dev.client);
  return served(dev, charged);
}

/** Starts a Worker under `wrangler dev` that sends each callback by a workflow. */
export function startWorkflows(parent: string): Promise<Served> {
  return startWorker(parent, "workflow", WORKFLOW);
}

/** Starts a Worker under `wrangler dev` that sends each callback by a queue. */
export function startQueues(parent: string): Promise<Served> {
  return startWorker(parent, "queue", QUEUE);
}

async function startWorker(parent: string, name: string, bindings: string): Promise<Served> {
  const home = await mkdtemp(join(tmpdir(), "task-relay-bench-"));
  const config = join(home, "wrangler.toml");
  const main = JSON.stringify(join(import.meta.dirname, `${name}-worker.ts`));
  const settings = `name = "${name}"\nmain = ${main}\ncompatibility_date = "2026-10-20"\n`;
  await writeFile(config, settings + bindings);
  const dev = await WranglerDev.start({ vars: {}, config, parent });
  return served(dev, plainEvent, () => rm(home, { recursive: true, force: true }));
}

function served(
  dev: WranglerDev,
  tasks: Served["tasks"],
  cleanUp: () => Promise<void> = async () => {},
): Served {
  return {
    url: dev.url,
    pids: dev.pid === undefined ? [] : [dev.pid],
    tasks,
    [Symbol.asyncDispose]: async () => {
      await dev[Symbol.asyncDispose]();
      await cleanUp();
    },
  };
}

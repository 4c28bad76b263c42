import { join } from "node:path";
import { LOCAL_VARS } from "../../test/process/harness/client.ts";
import { LoopbackServer } from "../../test/process/harness/loopback.ts";
import { bundleWithoutConsole } from "./without-console.ts";
import { Workerd, type WorkerdOptions } from "../../test/process/harness/workerd.ts";
import type { Served } from "./server.ts";
import { charged, eventOnly, openAccount, plainEvent, registered, submitted } from "./tasks.ts";

/** Starts the bare Worker. @param parent directory of its storage. */
export function startFloor(parent: string): Promise<Served> {
  const entry = join(import.meta.dirname, "floor-worker.ts");
  return started({ vars: {}, entry, parent }, plainEvent);
}

/** Starts the Worker by hand that keeps the relay's promises. */
export function startPromises(parent: string): Promise<Served> {
  const entry = join(import.meta.dirname, "promises-worker.ts");
  return started({ vars: LOCAL_VARS, entry, parent }, eventOnly);
}

/** Starts a relay whose tasks are created by the events that end them. */
export function startRelay(parent: string): Promise<Served> {
  return started({ vars: LOCAL_VARS, parent }, eventOnly);
}

/** Starts the same relay from a bundle that lacks its console and its documentation. */
export async function startHeadlessRelay(parent: string): Promise<Served> {
  return await started(
    { vars: LOCAL_VARS, parent, script: await bundleWithoutConsole() },
    eventOnly,
  );
}

/** Starts a relay whose tasks are registered before their event. */
export function startRegisteringRelay(parent: string): Promise<Served> {
  return started({ vars: LOCAL_VARS, parent }, registered);
}

/** Starts a relay that submits the jobs of its tasks, to a stand-in for Ark in this process, before their event. */
export async function startSubmittingRelay(parent: string): Promise<Served> {
  await using stack = new AsyncDisposableStack();
  const ark = stack.use(await startArk());
  const vars = { ...LOCAL_VARS, ARK_BASE_URL: ark.origin, ARK_API_KEY: "bench-ark-key" };
  const relay = stack.use(await started({ vars, parent }, submitted));
  const servers = stack.move();
  return { ...relay, [Symbol.asyncDispose]: () => servers.disposeAsync() };
}

/** Starts a server that accepts each job at once. */
function startArk(): Promise<LoopbackServer> {
  let jobs = 0;
  const server = new LoopbackServer((request, response) => {
    request.resume();
    response.writeHead(200, { "Content-Type": "application/json" });
    response.end(JSON.stringify({ id: `cgt-${jobs++}` }));
  });
  return server.listen();
}

/** Starts a relay whose tasks are charged to an account. */
export function startChargingRelay(parent: string): Promise<Served> {
  return started({ vars: LOCAL_VARS, parent }, charged);
}

/** Starts a server without an index that uses the connections that workerd keeps, as the floors do. */
async function started(options: WorkerdOptions, tasks: Served["tasks"]): Promise<Served> {
  const server = await Workerd.start({ ...options, hasNewConnections: false, hasIndex: false });
  if (tasks === charged) await openAccount(server.client);
  const pids = server.pid === undefined ? [] : [server.pid];
  return {
    url: server.url,
    pids,
    tasks,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

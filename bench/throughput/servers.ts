import { DISK_DIRECTORY, FASTEST_DIRECTORY } from "../figures.ts";
import { startBullMq } from "./bullmq.ts";
import { startDevRelay, startIndexedRelay, startQueues, startWorkflows } from "./dev.ts";
import { startChargingRelay, startFloor, startHeadlessRelay } from "./plain.ts";
import { startPromises, startRegisteringRelay, startRelay, startSubmittingRelay } from "./plain.ts";
import { type ContenderKey, contendersOf, type Place } from "./plan.ts";
import type { Served } from "./server.ts";

export type Servers = ReadonlyMap<ContenderKey, Served>;
type Starts = Readonly<Partial<Record<ContenderKey, (parent: string) => Promise<Served>>>>;

const PLAIN: Starts = {
  promises: startPromises,
  floor: startFloor,
  event: startRelay,
  twin: startRelay,
  headless: startHeadlessRelay,
  registered: startRegisteringRelay,
  submitted: startSubmittingRelay,
  credits: startChargingRelay,
  bullmq: startBullMq,
};
const DEV: Starts = {
  event: startDevRelay,
  indexed: startIndexedRelay,
  workflows: startWorkflows,
  queues: startQueues,
};

/** Starts all servers of a place, which the stack stops. */
export async function startServers(place: Place, stack: AsyncDisposableStack): Promise<Servers> {
  const { key } = place;
  const parent = key === "disk" ? DISK_DIRECTORY : FASTEST_DIRECTORY;
  const servers = new Map<ContenderKey, Served>();
  for (const contender of contendersOf(place)) {
    const start = (key === "dev" ? DEV : PLAIN)[contender];
    if (start === undefined) throw new Error(`${contender} cannot run at the place ${key}`);
    servers.set(contender, stack.use(await start(parent)));
  }
  return servers;
}

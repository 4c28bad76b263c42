import type { IncomingMessage, ServerResponse } from "node:http";
import { seeded } from "../../../simulation/random.ts";
import { Client } from "../../harness/client.ts";
import { forward, LoopbackServer } from "../../harness/loopback.ts";
import { S3Server } from "../../harness/s3-server.ts";
import { Cluster } from "../../self-host/cluster.ts";
import { FakeUpstream } from "../../upstreams/fake-upstream.ts";
import { faultsIn as faultsInTasks } from "../callbacks/judge.ts";
import { planOf } from "../callbacks/plan.ts";
import { PLANTED_FAULTS as PLANTED_IN_TASKS } from "../callbacks/planted.ts";
import type { Recording as TaskRecording } from "../callbacks/recording.ts";
import { recordTasks, taskVars } from "../callbacks/round.ts";
import { Counters } from "../counters.ts";
import { quiet } from "../quiescence.ts";
import type { PlantedFault } from "../planting.ts";
import type { Recorded, Scenario } from "../scenario.ts";
import type { Stage } from "../stage.ts";
import { faultsIn as faultsInOrders } from "../submissions/judge.ts";
import { ordersOf } from "../submissions/orders.ts";
import { PLANTED_FAULTS as PLANTED_IN_ORDERS } from "../submissions/planted.ts";
import { OUTPUTS_URL, type Recording as OrderRecording } from "../submissions/recording.ts";
import { ORDER_VARS, recordOrders, upstreamOf } from "../submissions/scenario.ts";
import { harm, HARM_NAMES } from "./harms.ts";
import { isListened, type ListenedRecording, recordListened } from "./listening.ts";
import {
  faultsIn as faultsInListened,
  PLANTED_FAULTS as PLANTED_IN_LISTENED,
} from "./listening-judge.ts";
import { Supervisor } from "./supervisor.ts";
import { runWaitedFor } from "./waiting.ts";

const NODES = 3;
const ORDERS = 100;
/** Longest pause in milliseconds before an order; as only some orders wait at a time, the last ones begin later. */
const MAX_PAUSE_MS = 25_000;
const PARALLEL_TASKS = 6;
/** Time in milliseconds without log lines after which the cluster counts as quiet; longer than any work without an alarm. */
const QUIET_MS = 10_000;
/**
 * Time in milliseconds ahead within which an alarm counts as near: an unknown outcome is settled after a minute. Alarms that
 * are set longer ahead are for rows of the index that were not written, for deadlines and for erasures.
 */
const NEAR_MS = 70_000;
/**
 * Delay in milliseconds up to which a late alarm counts as near; longer than the 20 s until another node has the objects of
 * one that has ended. Later ones are those of tasks that have ended since.
 */
const MISSED_MS = 30_000;

/** Words of workerd for a call to an object of a node that ends meanwhile. The relay repeats such calls. */
const LOST_CALL = "internal error; reference = ";

/** What was recorded of the three loads, which ran side by side. */
interface Recording {
  readonly tasks: TaskRecording;
  readonly orders: OrderRecording;
  readonly listened: ListenedRecording;
}

/**
 * Runs tasks, submits orders, and reports tasks with outputs and listeners at a cluster of three nodes, and of two after one
 * was taken away, while nodes are killed and terminated, their store is slow and frozen, and all disks are lost. Each request
 * goes to a random node, so that callers, hooks and clients that wait meet at different ones. What was recorded is judged as
 * that of one process.
 */
export const CLUSTER: Scenario<Recording> = {
  record,
  faultsIn: ({ tasks, orders, listened }) => [
    ...faultsInTasks(tasks),
    ...faultsInOrders(orders),
    ...faultsInListened(listened),
  ],
  planted: [
    ...PLANTED_IN_TASKS.map((fault) => within("tasks", fault, true)),
    ...PLANTED_IN_ORDERS.map((fault) => within("orders", fault, true)),
    ...PLANTED_IN_LISTENED.map((fault) => within("listened", fault)),
  ],
  least: {
    ...Object.fromEntries(HARM_NAMES.map((name) => [name, 1])),
    tasks: 15,
    POSTs: 40,
    orders: ORDERS,
    completed: 10,
    "calls completed": 2,
    "attempts rejected": 5,
    "requests repeated": 20,
    "waits that an end has answered": 5,
    "tasks to listeners": 10,
    copies: 10,
    "listeners connected again": NODES,
  },
};

/**
 * Plants a fault into a part of a recording.
 * @param mayLackPlace true where the part may be too small to have a place for it, because other scenarios record more.
 */
function within<Part extends keyof Recording>(
  part: Part,
  { plant, ...fault }: PlantedFault<Recording[Part]>,
  mayLackPlace = false,
): PlantedFault<Recording> {
  return {
    ...fault,
    mayLackPlace,
    plant: (recording) => {
      const changed = plant(recording[part]);
      return changed === null ? null : { ...recording, [part]: changed };
    },
  };
}

async function record(seed: number): Promise<Recorded<Recording>> {
  const random = seeded(seed);
  const orders = ordersOf(seed, ORDERS).map((order) => {
    return { ...order, pauseMs: random() * MAX_PAUSE_MS };
  });
  await using taskUpstream = await FakeUpstream.start();
  await using orderUpstream = await upstreamOf(orders);
  await using outputs = await S3Server.start();
  const started = Promise.withResolvers<Supervisor>();
  await using front = await randomFront(started.promise, seeded(seed + 1)).listen();
  await using cluster = await Cluster.start(NODES, {
    hasProxy: false,
    vars: {
      ...ORDER_VARS,
      ...taskVars(taskUpstream),
      ...orderUpstream.ark.vars,
      ...outputs.vars,
      PUBLIC_URL: front.origin,
      LISTEN: "true",
    },
  });
  const counters = new Counters();
  await using supervisor = new Supervisor(cluster, counters);
  started.resolve(supervisor);

  const begun = Array.from({ length: 3 }, () => Promise.withResolvers<void>());
  let isHarmed = false;
  const harming = Promise.all(begun.map(({ promise }) => promise))
    .then(() => harm({ cluster, random, counters, supervisor }))
    .finally(() => (isHarmed = true));
  /** Harms the cluster as soon as all loads have begun. */
  const disturb = (nth: number) => () => {
    begun[nth]?.resolve();
    return harming;
  };
  const stage = stageOf(cluster, supervisor, front.origin);
  const [tasks, ordered, listened] = await Promise.all([
    recordTasks(
      {
        seed,
        parallel: PARALLEL_TASKS,
        isEnough: () => isHarmed,
        planOf,
        run: (world, plan) => runWaitedFor(world, plan, front.origin, counters),
      },
      taskUpstream,
      // The disks of the nodes are caches, which may not have what is stored.
      { ...stage, isRefundStored: null, disturb: disturb(0) },
    ),
    recordOrders(orders, orderUpstream, {
      ...stage,
      disturb: disturb(1),
      bucket: async () => {
        const { keys, parts } = await outputs.content();
        return { keys: keys.filter((key) => !isListened(key)), parts };
      },
      // They are in the bucket of the cluster, in workerd's own form.
      storedCalls: () => [],
    }),
    recordListened({
      ...stage,
      nodes: cluster.nodes,
      disturb: disturb(2),
      keptKeys: async () => (await outputs.content()).keys,
    }),
  ]);
  for (const each of [tasks, ordered, listened]) counters.addAll(each.counters);
  const recording = {
    tasks: tasks.recording,
    orders: ordered.recording,
    listened: listened.recording,
  };
  return { recording, counters };
}

function stageOf(cluster: Cluster, supervisor: Supervisor, url: string): Stage {
  const output = () => cluster.nodes.map((node) => node.output).join("\n");
  const nearAlarms = () => {
    const isUp = supervisor.nodes.every(({ isAlive }) => isAlive);
    return isUp ? cluster.nearAlarms(MISSED_MS, NEAR_MS) : null;
  };
  return {
    url,
    client: new Client({ url }),
    settle: (meanwhile) => quiet({ output, nearAlarms, quietMs: QUIET_MS }, meanwhile),
    log: () => output().replaceAll(LOST_CALL, ""),
  };
}

/** Passes each request on to a random node. Serves also the host of the links to outputs, which no name server knows. */
function randomFront(supervised: Promise<Supervisor>, random: () => number): LoopbackServer {
  const pass = async (request: IncomingMessage, response: ServerResponse) => {
    if (request.url?.startsWith("/outputs/")) request.headers.host = new URL(OUTPUTS_URL).host;
    const { nodes } = await supervised;
    const { url = "" } = nodes[Math.floor(random() * nodes.length)] ?? {};
    forward(url, request, response);
  };
  return new LoopbackServer((request, response) => void pass(request, response));
}

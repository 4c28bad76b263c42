import pMap from "p-map";
import { seeded } from "../../../simulation/random.ts";
import { type Client, LOCAL_VARS, Task } from "../../harness/client.ts";
import { Receiver } from "../../harness/receiver.ts";
import { Workerd } from "../../harness/workerd.ts";
import { Caller } from "../caller.ts";
import { Counters } from "../counters.ts";
import { readFinalTask } from "../final-task.ts";
import { afterwards, killAgainAndAgain, upFor } from "../kills.ts";
import { runInLanes } from "../lanes.ts";
import { type Ledger, openAccount, readLedger } from "../ledger.ts";
import { quiescence } from "../quiescence.ts";
import type { Recorded, Scenario } from "../scenario.ts";
import { Changer } from "./changing.ts";
import { figuresOf } from "./figures.ts";
import { faultsIn } from "./judge.ts";
import { pauseHost, type PausePlan } from "./pausing.ts";
import { DEFAULT_SCHEDULE_S, type Owner, OWNERS, taskPlan } from "./plan.ts";
import { PLANTED_FAULTS } from "./planted.ts";
import { type Evidence, type Recording, type SignedPost, type TaskHistory } from "./recording.ts";
import { runTask } from "./task-run.ts";
import { taskOf, VerifiedPosts } from "./verified-posts.ts";

const VARS = {
  ...LOCAL_VARS,
  CALLBACK_SCHEDULE_S: DEFAULT_SCHEDULE_S.join(","),
  CALLBACK_TIMEOUT_S: "2",
};
const LOAD_MS = 60_000;
const PARALLEL = 24;
const READS_AT_ONCE = 8;
const GRANT = 10_000_000;
const [MIN_UP_MS, MAX_UP_MS] = [1_000, 7_000];
/** Longest time between two kills after the load, while attempts go on that a pause has held. */
const MAX_UP_AFTERWARDS_MS = 12_000;
const KILLS_AFTERWARDS = 12;

/** Pauses of the hosts but the first, which is never paused. A resting attempt looks again after one to two minutes. */
const PAUSES: readonly (readonly PausePlan[])[] = [
  [
    { fromS: 2, untilS: 22, endsByItself: false },
    { fromS: 28, untilS: 50, endsByItself: false },
  ],
  [{ fromS: 6, untilS: 36, endsByItself: true }],
];

/** Changes endpoints and pauses hosts while the attempts of tasks run and the relay is killed with `kill -9`. */
export const ENDPOINTS: Scenario<Recording> = {
  record,
  faultsIn,
  planted: PLANTED_FAULTS,
  least: {
    kills: 15,
    tasks: 60,
    "tasks refused": 3,
    "endpoints replaced": 20,
    "endpoints deleted": 2,
    "secrets rotated": 5,
    "POSTs after a change of the endpoint": 40,
    "ends not told": 1,
    "redeliveries accepted": 5,
    "redeliveries refused": 1,
    "progress callbacks": 2,
    "attempts interrupted": 5,
    "callbacks held by a pause": 10,
  },
};

async function record(seed: number): Promise<Recorded<Recording>> {
  await using never = await Receiver.start();
  await using resumed = await Receiver.start();
  await using expiring = await Receiver.start();
  const hosts = [never, resumed, expiring];
  await using relay = await Workerd.start({ vars: VARS });
  const caller = new Caller(relay.client);
  const accounts = OWNERS.filter((owner) => owner !== null);
  for (const id of accounts) await openAccount(caller, id, GRANT);
  const changer = await Changer.start(caller, hosts, seed);
  const counters = new Counters();
  const endAt = Date.now() + LOAD_MS;
  let isOver = false;
  const isClosing = () => Date.now() > endAt;
  const owners = new Map<string, Owner>();
  const runNext = () => {
    const plan = taskPlan(seed, owners.size);
    owners.set(plan.id, plan.owner);
    return runTask(caller, plan, isClosing);
  };
  const verified = new VerifiedPosts(hosts, owners, changer.signers);
  const random = seeded(seed);
  const load = async () => {
    const [histories, pauses] = await Promise.all([
      runInLanes(PARALLEL, isClosing, runNext),
      pMap(PAUSES, (plans, i) => pauseHost(caller, hostAt(hosts[i + 1]), plans)),
      pMap(OWNERS, (owner) => changer.changeUntil(isClosing, owner)),
    ]);
    isOver = true;
    return { histories, pauses: pauses.flat() };
  };
  const [{ histories, pauses }] = await Promise.all([
    load(),
    killAgainAndAgain({
      relay,
      counters,
      moment: () => {
        // From the end of the load on all secrets are known.
        if (isOver) verified.check();
        return upFor(random, MIN_UP_MS, isOver ? MAX_UP_AFTERWARDS_MS : MAX_UP_MS);
      },
      isEnough: afterwards(() => isOver, KILLS_AFTERWARDS),
    }),
  ]);
  await quiescence(relay, () => verified.check());

  const ledgers = await Promise.all(accounts.map((id) => readLedger(relay.client, id)));
  const evidence = await evidenceOf(relay.client, histories, verified.all, ledgers);
  const strange = hosts.flatMap((host) => host.posts).filter((post) => !owners.has(taskOf(post)));
  const recording = {
    evidence,
    changes: changer.changes,
    pauses,
    ledgers,
    genuine: new Set(verified.all.filter(({ signers }) => signers.length > 0)),
    strangePaths: [...new Set(strange.map(({ path }) => path))],
    log: relay.output,
  };
  counters.addAll(figuresOf(recording));
  counters.add("requests repeated", caller.repeats);
  return { recording, counters };
}

/** Reads each task, and finds its posts and the entries about it. */
function evidenceOf(
  client: Client,
  histories: readonly TaskHistory[],
  all: readonly SignedPost[],
  ledgers: readonly Ledger[],
): Promise<Evidence[]> {
  const posts = Map.groupBy(all, taskOf);
  const entries = Map.groupBy(
    ledgers.flatMap((ledger) => ledger.entries),
    ({ task_id: id }) => id,
  );
  const read = async (history: TaskHistory): Promise<Evidence> => {
    const { id } = history.plan;
    const final = await readFinalTask(client, id, Task, history.faults);
    return { history, ...final, posts: posts.get(id) ?? [], entries: entries.get(id) ?? [] };
  };
  return pMap(histories, read, { concurrency: READS_AT_ONCE });
}

function hostAt(receiver: Receiver | undefined): string {
  return receiver === undefined ? "" : new URL(receiver.origin).host;
}

import pMap from "p-map";
import { seeded } from "../../../simulation/random.ts";
import { LOCAL_VARS } from "../../harness/client.ts";
import { type Post, Receiver } from "../../harness/receiver.ts";
import { Workerd } from "../../harness/workerd.ts";
import { Caller } from "../caller.ts";
import { Counters } from "../counters.ts";
import { afterwards, killAgainAndAgain, upFor } from "../kills.ts";
import { openAccount, readLedger } from "../ledger.ts";
import { quiescence } from "../quiescence.ts";
import type { Recorded, Scenario } from "../scenario.ts";
import { strangePathsOf } from "../witnessed.ts";
import { Changer, type Signer } from "./changing.ts";
import { faultsIn, heldByPauses, postsAfterChange } from "./judge.ts";
import { pauseHost, type PausePlan } from "./pausing.ts";
import { DEFAULT_SCHEDULE_S, type Owner, OWNERS, type TaskPlan, taskPlan } from "./plan.ts";
import { PLANTED_FAULTS } from "./planted.ts";
import {
  type Evidence,
  isProgress,
  ReadTask,
  type Recording,
  type SignedPost,
  type TaskHistory,
} from "./recording.ts";
import { runTask } from "./task-run.ts";

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
    "attempts interrupted": 10,
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
  const planOf = (nth: number) => {
    const plan = taskPlan(seed, nth);
    owners.set(plan.id, plan.owner);
    return plan;
  };
  const verified = new VerifiedPosts(hosts, owners, changer.signers);
  const random = seeded(seed);
  const load = async () => {
    const [histories, pauses] = await Promise.all([
      runTasks(caller, planOf, isClosing),
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
  const entries = Map.groupBy(
    ledgers.flatMap((ledger) => ledger.entries),
    ({ task_id: id }) => id,
  );
  const posts = Map.groupBy(verified.all, taskOf);
  const evidence = await pMap(
    histories,
    async (history): Promise<Evidence> => {
      const { id } = history.plan;
      const { status, text, json } = await relay.client.ask("GET", `/v1/tasks/${id}`);
      const read =
        status === 200 ? { text, task: ReadTask.parse(json) } : { text: null, task: null };
      return { history, ...read, posts: posts.get(id) ?? [], entries: entries.get(id) ?? [] };
    },
    { concurrency: READS_AT_ONCE },
  );
  const strangePaths = hosts.flatMap((host) => {
    const strange = host.posts.filter((post) => !owners.has(taskOf(post)));
    const paths = new Set(strange.map(({ path }) => path));
    return strangePathsOf(host, (path) => !paths.has(path));
  });
  const genuine = new Set(verified.all.filter(({ signers }) => signers.length > 0));
  const { changes } = changer;
  const recording = {
    evidence,
    changes,
    pauses,
    ledgers,
    genuine,
    strangePaths,
    log: relay.output,
  };
  count(counters, recording);
  counters.add("requests repeated", caller.repeats);
  return { recording, counters };
}

/** Runs tasks one after another on parallel lanes until the round closes. */
async function runTasks(
  caller: Caller,
  planOf: (nth: number) => TaskPlan,
  isClosing: () => boolean,
): Promise<readonly TaskHistory[]> {
  const histories: TaskHistory[] = [];
  let started = 0;
  const lane = async () => {
    while (!isClosing()) {
      histories.push(await runTask(caller, planOf(started++), isClosing));
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, lane));
  return histories;
}

/** Posts with the secrets with which they verify. They are verified while they are fresh: for five minutes. */
class VerifiedPosts {
  readonly all: SignedPost[] = [];
  readonly #checked = new Set<Post>();
  readonly #hosts: readonly Receiver[];
  readonly #owners: ReadonlyMap<string, Owner>;
  readonly #signers: ReadonlyMap<Owner, readonly Signer[]>;

  constructor(
    hosts: readonly Receiver[],
    owners: ReadonlyMap<string, Owner>,
    signers: ReadonlyMap<Owner, readonly Signer[]>,
  ) {
    this.#hosts = hosts;
    this.#owners = owners;
    this.#signers = signers;
  }

  /** Checks the posts that have ended since the last call. */
  check(): void {
    const posts = this.#hosts.flatMap((host) => host.posts);
    for (const post of posts) {
      if (this.#checked.has(post) || post.closedAt === null) continue;
      this.#checked.add(post);
      this.all.push({ ...post, signers: this.#signersOf(post) });
    }
  }

  #signersOf(post: Post): SignedPost["signers"] {
    const owner = this.#owners.get(taskOf(post));
    const known = owner === undefined ? [] : (this.#signers.get(owner) ?? []);
    const verifying = known.filter(({ webhook }) => verifies(webhook, post));
    return verifying.map(({ name }) => name);
  }
}

function verifies(webhook: Signer["webhook"], { body, headers }: Post): boolean {
  try {
    webhook.verify(body, headers);
    return true;
  } catch {
    return false;
  }
}

function taskOf({ headers }: Post): string {
  return headers["x-task-id"] ?? "";
}

function hostAt(receiver: Receiver | undefined): string {
  return receiver === undefined ? "" : new URL(receiver.origin).host;
}

/** Adds what a recording has to the figures. */
function count(counters: Counters, recording: Recording): void {
  for (const changes of recording.changes.values()) {
    for (const [i, { state }] of changes.entries()) {
      const before = changes[i - 1]?.state ?? null;
      const isRotated = before !== null && state?.url === before.url;
      const kind = state === null ? "endpoints deleted" : "endpoints replaced";
      counters.add(before === null ? "endpoints created" : isRotated ? "secrets rotated" : kind);
    }
  }
  for (const { history, task, posts } of recording.evidence) {
    counters.add(history.registered?.isRefused === true ? "tasks refused" : "tasks");
    counters.add("POSTs", posts.length);
    counters.add("progress callbacks", posts.filter(isProgress).length);
    for (const { isRefused } of history.orders) {
      counters.add(isRefused ? "redeliveries refused" : "redeliveries accepted");
    }
    if (history.ended !== null && task?.callback === null) counters.add("ends not told");
    for (const { outcome } of task?.callback?.attempts ?? []) counters.add(`attempts ${outcome}`);
  }
  counters.add("pauses", recording.pauses.length);
  counters.add("POSTs after a change of the endpoint", postsAfterChange(recording));
  counters.add("callbacks held by a pause", heldByPauses(recording));
}

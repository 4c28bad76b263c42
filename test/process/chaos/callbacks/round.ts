import pMap from "p-map";
import { closedPort, type Post, Receiver } from "../../harness/receiver.ts";
import { Client, LOCAL_VARS } from "../../harness/client.ts";
import { seeded } from "../../../simulation/random.ts";
import type { LoopbackServer } from "../../harness/loopback.ts";
import { isRefundStored } from "../../harness/stored-ledger.ts";
import { type Vars, Workerd } from "../../harness/workerd.ts";
import { FakeUpstream } from "../../upstreams/fake-upstream.ts";
import { Caller } from "../caller.ts";
import { Counters } from "../counters.ts";
import { readFinalTask } from "../final-task.ts";
import { runInLanes } from "../lanes.ts";
import { type Entry, openAccount, readLedger } from "../ledger.ts";
import { quiescence } from "../quiescence.ts";
import type { Recorded } from "../scenario.ts";
import type { Stage } from "../stage.ts";
import { GenuinePosts, strangePathsOf } from "../witnessed.ts";
import { SCHEDULE_S } from "./judge.ts";
import type { Load } from "./kills.ts";
import { ACCOUNTS, type TaskPlan } from "./plan.ts";
import { countTask, type Evidence, ReadTask, type Recording } from "./recording.ts";
import { signatureCheck } from "./signatures.ts";
import type { TaskHistory, World } from "./task-history.ts";
import { runTask } from "./task-run.ts";

const READS_AT_ONCE = 12;

/** The load of a round. */
export interface TaskLoad {
  readonly seed: number;
  /**
   * Tells whether to start no more tasks, from the number of started tasks, the time since the start, and what
   * has been counted.
   */
  readonly isEnough: (tasks: number, elapsedMs: number, counters: Counters) => boolean;
  /** Number of tasks that run at the same time. */
  readonly parallel: number;
  readonly planOf: (seed: number, nth: number) => TaskPlan;
  /** Runs a task as planned; by default `runTask`. */
  readonly run?: typeof runTask;
  /** Returns further figures of the round. */
  readonly figuresOf?: (evidence: readonly Evidence[]) => Counters;
}

/** A relay that a round loads. */
export interface TaskStage extends Stage {
  /** Kills and restarts the relay until the load is over. */
  readonly disturb: (load: Omit<Load, "relay">) => Promise<void>;
  /** Tells whether the refund of a task is stored now; null where that can only be told by the times in the ledger. */
  readonly isRefundStored: ((taskId: string) => boolean) | null;
}

export interface RoundOptions extends TaskLoad {
  /** Kills and restarts the relay until the load is over. */
  readonly disturb: (load: Load) => Promise<void>;
  /** A bundle of another build, which runs beside the relay. */
  readonly otherScript?: string;
  /** Starts a server that passes the requests of callers and providers on to the relay. */
  readonly frontOf?: (relay: Workerd) => Promise<LoopbackServer>;
}

/** Loads one relay while it is killed and restarted, and returns what `recordTasks` does. */
export async function recordRound(options: RoundOptions): Promise<Recorded<Recording>> {
  const { otherScript } = options;
  await using upstream = await FakeUpstream.start();
  await using relay = await Workerd.start({
    vars: { ...LOCAL_VARS, ...taskVars(upstream) },
    ...(otherScript !== undefined && { otherScript }),
  });
  await using front = (await options.frontOf?.(relay)) ?? null;
  return await recordTasks(options, upstream, {
    url: front?.origin ?? relay.url,
    client: relay.client,
    disturb: (load) => options.disturb({ ...load, relay }),
    settle: (meanwhile) => quiescence(relay, meanwhile),
    isRefundStored: (taskId) => isRefundStored(relay.storage, taskId),
    log: () => relay.output,
  });
}

/** Returns variables of a relay whose tasks have this upstream. */
export function taskVars({ connections: CONNECTIONS }: FakeUpstream): Vars {
  return { CALLBACK_SCHEDULE_S: SCHEDULE_S, CALLBACK_TIMEOUT_S: "2", CONNECTIONS };
}

/**
 * Loads a relay while it is disturbed, waits until nothing is due any more, and returns what the operator, the relay, its
 * ledger and the receiver have recorded. Before that, only tasks whose plan says so are read, because a read could wake a
 * task that is stuck.
 */
export async function recordTasks(
  { seed, planOf, isEnough, parallel, figuresOf, run = runTask }: TaskLoad,
  upstream: FakeUpstream,
  stage: TaskStage,
): Promise<Recorded<Recording>> {
  const plans = new Map<string, TaskPlan>();
  const tooEarly: string[] = [];
  await using receiver = await Receiver.start((path, headers) => {
    if (!isRefundDue(headers, plans.get(path))) return;
    const id = headers["x-task-id"] ?? "";
    if (stage.isRefundStored?.(id) === false) tooEarly.push(beforeRefund(id));
  });
  const caller = new Caller(new Client(stage));
  for (const { id, grant } of ACCOUNTS) await openAccount(caller, id, grant);
  const accountOf = ({ path }: Post) => plans.get(path)?.accountId ?? null;
  const genuine = new GenuinePosts(receiver, await signatureCheck(caller, accountOf));

  const counters = new Counters();
  const startedAt = Date.now();
  const world: World = {
    caller,
    receiver,
    upstream,
    closedUrl: await closedPort(),
    isClosing: () => isEnough(plans.size, Date.now() - startedAt, counters),
  };
  const nextPlan = () => {
    const plan = planOf(seed, plans.size);
    plans.set(plan.path, plan);
    return plan;
  };
  let isOver = false;
  const [histories] = await Promise.all([
    runInLanes(parallel, world.isClosing, () => run(world, nextPlan())).finally(
      () => (isOver = true),
    ),
    stage.disturb({ caller, counters, random: seeded(seed), isOver: () => isOver }),
  ]);
  await stage.settle(() => genuine.check());

  const ledgers = await Promise.all(ACCOUNTS.map(({ id }) => readLedger(stage.client, id)));
  const entries = Map.groupBy(
    ledgers.flatMap((ledger) => ledger.entries),
    ({ task_id }) => task_id,
  );
  const posts = Map.groupBy(receiver.posts, ({ path }) => path);
  if (stage.isRefundStored === null) {
    const announced = receiver.posts.filter(({ path, headers }) =>
      isRefundDue(headers, plans.get(path)),
    );
    tooEarly.push(...announced.flatMap((post) => lateRefund(post, entries)));
  }
  const evidenceOf = async (history: TaskHistory): Promise<Evidence> => ({
    history,
    ...(await readFinalTask(stage.client, history.id, ReadTask, history.faults)),
    posts: posts.get(history.plan.path) ?? [],
    entries: entries.get(history.id) ?? [],
  });
  const evidence = await pMap(histories, evidenceOf, { concurrency: READS_AT_ONCE });
  for (const each of evidence) countTask(counters, each);
  if (figuresOf !== undefined) counters.addAll(figuresOf(evidence));
  counters.add("requests repeated", caller.repeats);
  counters.add("polls answered", upstream.polls);
  for (const [status, count] of caller.statuses) counters.add(`answers ${status}`, count);
  const recording = {
    evidence,
    ledgers,
    tooEarly,
    genuine: genuine.all,
    strangePaths: strangePathsOf(receiver, (path) => plans.has(path)),
    log: stage.log(),
  };
  return { counters, recording };
}

function isRefundDue(headers: Post["headers"], plan: TaskPlan | undefined): boolean {
  return headers["x-event"] === "task.failed" && plan?.credits != null;
}

function beforeRefund(taskId: string): string {
  return `${taskId}: task.failed before its refund`;
}

/** Returns the fault of a failure that was announced before the time of its refund, which is in whole seconds. */
function lateRefund(
  { headers, arrivedAt }: Post,
  entries: ReadonlyMap<string | undefined, readonly Entry[]>,
): readonly string[] {
  const id = headers["x-task-id"] ?? "";
  const refund = entries.get(id)?.find(({ kind }) => kind === "refund");
  return refund !== undefined && refund.created_at * 1000 <= arrivedAt ? [] : [beforeRefund(id)];
}

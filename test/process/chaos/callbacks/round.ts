import pMap from "p-map";
import { closedPort, type Post, Receiver } from "../../harness/receiver.ts";
import { Client, LOCAL_VARS } from "../../harness/client.ts";
import { seeded } from "../../../simulation/random.ts";
import type { LoopbackServer } from "../../harness/loopback.ts";
import { isRefundStored } from "../../harness/stored-ledger.ts";
import { Workerd } from "../../harness/workerd.ts";
import { FakeUpstream } from "../../upstreams/fake-upstream.ts";
import { Caller } from "../caller.ts";
import { Counters } from "../counters.ts";
import { readFinalTask } from "../final-task.ts";
import { runInLanes } from "../lanes.ts";
import { openAccount, readLedger } from "../ledger.ts";
import { quiescence } from "../quiescence.ts";
import type { Recorded } from "../scenario.ts";
import { GenuinePosts, strangePathsOf } from "../witnessed.ts";
import { SCHEDULE_S } from "./judge.ts";
import type { Load } from "./kills.ts";
import { ACCOUNTS, type TaskPlan } from "./plan.ts";
import { countTask, type Evidence, ReadTask, type Recording } from "./recording.ts";
import { signatureCheck } from "./signatures.ts";
import type { TaskHistory, World } from "./task-history.ts";
import { runTask } from "./task-run.ts";

const VARS = { ...LOCAL_VARS, CALLBACK_SCHEDULE_S: SCHEDULE_S, CALLBACK_TIMEOUT_S: "2" };
const READS_AT_ONCE = 12;

export interface RoundOptions {
  readonly seed: number;
  /**
   * Tells whether to start no more tasks, from the number of started tasks, the time since the start, and what
   * has been counted.
   */
  readonly isEnough: (tasks: number, elapsedMs: number, counters: Counters) => boolean;
  /** Number of tasks that run at the same time. */
  readonly parallel: number;
  readonly planOf: (seed: number, nth: number) => TaskPlan;
  /** Kills and restarts the relay until the load is over. */
  readonly disturb: (load: Load) => Promise<void>;
  /** A bundle of another build, which runs beside the relay. */
  readonly otherScript?: string;
  /** Starts a server that passes the requests of callers and providers on to the relay. */
  readonly frontOf?: (relay: Workerd) => Promise<LoopbackServer>;
  /** Returns further figures of the round. */
  readonly figuresOf?: (evidence: readonly Evidence[]) => Counters;
}

/**
 * Loads one relay while it is killed and restarted, waits until nothing is due any more, and returns what the
 * operator, the relay, its ledger and the receiver have recorded. Before that, only tasks whose plan says so
 * are read, because a read could wake a task that is stuck.
 */
export async function recordRound(options: RoundOptions): Promise<Recorded<Recording>> {
  const { seed, planOf, isEnough, otherScript } = options;
  await using upstream = await FakeUpstream.start();
  await using relay = await Workerd.start({
    vars: { ...VARS, CONNECTIONS: upstream.connections },
    ...(otherScript !== undefined && { otherScript }),
  });
  await using front = (await options.frontOf?.(relay)) ?? null;
  const plans = new Map<string, TaskPlan>();
  const tooEarly: string[] = [];
  await using receiver = await Receiver.start((path, headers) => {
    const isFailure = headers["x-event"] === "task.failed";
    if (!isFailure || plans.get(path)?.credits == null) return;
    const id = headers["x-task-id"] ?? "";
    if (!isRefundStored(relay.storage, id)) tooEarly.push(`${id}: task.failed before its refund`);
  });
  const caller = new Caller(front === null ? relay.client : new Client({ url: front.origin }));
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
    runInLanes(options.parallel, world.isClosing, () => runTask(world, nextPlan())).finally(
      () => (isOver = true),
    ),
    options.disturb({ relay, caller, counters, random: seeded(seed), isOver: () => isOver }),
  ]);
  await quiescence(relay, () => genuine.check());

  const ledgers = await Promise.all(ACCOUNTS.map(({ id }) => readLedger(relay.client, id)));
  const entries = Map.groupBy(
    ledgers.flatMap((ledger) => ledger.entries),
    ({ task_id }) => task_id,
  );
  const posts = Map.groupBy(receiver.posts, ({ path }) => path);
  const evidenceOf = async (history: TaskHistory): Promise<Evidence> => ({
    history,
    ...(await readFinalTask(relay.client, history.id, ReadTask, history.faults)),
    posts: posts.get(history.plan.path) ?? [],
    entries: entries.get(history.id) ?? [],
  });
  const evidence = await pMap(histories, evidenceOf, { concurrency: READS_AT_ONCE });
  for (const each of evidence) countTask(counters, each);
  if (options.figuresOf !== undefined) counters.addAll(options.figuresOf(evidence));
  counters.add("requests repeated", caller.repeats);
  counters.add("polls answered", upstream.polls);
  for (const [status, count] of caller.statuses) counters.add(`answers ${status}`, count);
  const recording = {
    evidence,
    ledgers,
    tooEarly,
    genuine: genuine.all,
    strangePaths: strangePathsOf(receiver, (path) => plans.has(path)),
    log: relay.output,
  };
  return { counters, recording };
}

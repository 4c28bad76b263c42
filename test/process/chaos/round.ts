import { openAccounts } from "./accounts.ts";
import { Caller } from "./caller.ts";
import { Inspector } from "./callback-verifier.ts";
import { type Judgement, judged } from "./verdict.ts";
import { killing, SHORT_WATCHDOG } from "./kills.ts";
import { live } from "./task-run.ts";
import { type LifePlan, planOf } from "./plan.ts";
import { SCHEDULE_S } from "./callback-faults.ts";
import { silence } from "./quiescence.ts";
import type { Story, World } from "./task-history.ts";
import { SECRETS } from "../harness/client.ts";
import { closedPort, type Post, Receiver } from "../harness/receiver.ts";
import { seeded } from "../harness/seeded.ts";
import { isRefundStored } from "../harness/stored-ledger.ts";
import { Upstream } from "../upstreams/fake-upstream.ts";
import { bundleOf, Workerd } from "../harness/workerd.ts";

const PARALLEL = 90;
const TIMEOUT_S = 2;

export interface RoundPlan {
  readonly seed: number;
  /** For how long new tasks come. */
  readonly loadMs: number;
}

/**
 * One relay with storage of its own, loaded while it is killed and restarted; then silence until nothing
 * can be due any more, and judgement. Before that only operators whose plan has it read their tasks: a
 * read could wake what is stuck.
 */
export async function chaosRound({ seed, loadMs }: RoundPlan): Promise<Judgement> {
  // Made before the load comes, or the first death would last for seconds.
  await bundleOf(SHORT_WATCHDOG);
  await using upstream = await Upstream.start();
  await using relay = await Workerd.start({ vars: varsOf(upstream) });
  const plans = new Map<string, LifePlan>();
  const tooEarly: string[] = [];
  await using receiver = await Receiver.start((path, headers) => {
    const isFailure = headers["x-event"] === "task.failed";
    if (!isFailure || plans.get(path)?.credits == null) return;
    const id = headers["x-task-id"] ?? "";
    if (!isRefundStored(relay.storage, id)) tooEarly.push(`${id}: task.failed before its refund`);
  });
  const caller = new Caller(relay);
  await openAccounts(caller);
  const inspector = await Inspector.instructed(caller);

  const closesAt = Date.now() + loadMs;
  const world: World = {
    caller,
    receiver,
    upstream,
    deadUrl: await closedPort(),
    isClosing: () => Date.now() > closesAt,
  };
  const next = () => {
    const plan = planOf(seed, plans.size);
    plans.set(plan.path, plan);
    return plan;
  };
  let isOver = false;
  const living = load(world, next).finally(() => (isOver = true));
  const deaths = killing(
    relay,
    seeded(seed),
    () => isOver,
    () => caller.nextBooking(),
  );
  const [stories, died] = await Promise.all([living, deaths]);
  const accountOf = ({ path }: Post) => plans.get(path)?.accountId ?? null;
  await silence(relay, () => inspector.check(receiver.posts, accountOf));
  const { genuine } = inspector;
  // The servers live until it is done.
  return await judged({
    relay,
    receiver,
    upstream,
    caller,
    stories,
    genuine,
    tooEarly,
    deaths: died,
  });
}

function varsOf(upstream: Upstream) {
  return {
    ...SECRETS,
    CALLBACK_SCHEDULE_S: SCHEDULE_S,
    CALLBACK_TIMEOUT_S: String(TIMEOUT_S),
    ALLOW_LOCAL_CALLBACKS: "true",
    CONNECTIONS: upstream.connections,
  };
}

/** Life after life, many side by side, until the round closes. */
async function load(world: World, next: () => LifePlan): Promise<Story[]> {
  const stories: Story[] = [];
  const lifeAfterLife = async () => {
    while (!world.isClosing()) stories.push(await live(world, next()));
  };
  await Promise.all(Array.from({ length: PARALLEL }, lifeAfterLife));
  return stories;
}

import pMap from "p-map";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { expect, it, vi } from "vitest";
import * as z from "zod";
import { type Client, LOCAL_VARS, Task } from "../harness/client.ts";
import { Receiver } from "../harness/receiver.ts";
import { seeded } from "../../simulation/random.ts";
import { Workerd } from "../harness/workerd.ts";
import { APIS, type Job, PARAMETERS, REASON, type UpstreamApi } from "./apis.ts";
import { FakeUpstream } from "./fake-upstream.ts";
import { type HookPlan, hookPlan, type PlannedHook } from "./hook-plan.ts";
import { attach, type Submitted, submitted } from "./submission.ts";

const TASKS = 1_000;
const PARALLEL = { concurrency: 12 };
/** The last polls come about 40 s after the last hook. */
const ENDED_WITHIN_MS = 220_000;
const QUIET_MS = 3_000;
const REPEAT_AFTER_MS = 250;
const SEED = Number(process.env["UPSTREAM_SEED"] ?? 20_261_121);

type EndedTask = z.infer<typeof EndedTask>;
const EndedTask = Task.extend({
  model: z.string(),
  created_at: z.int(),
  completed_at: z.int().optional(),
  output: z.object({ urls: z.array(z.string()), metadata: z.looseObject({}) }).optional(),
  error: z.object({ code: z.string(), message: z.string() }).optional(),
  failure: z.looseObject({ category: z.string() }).optional(),
  metadata: z.looseObject({}).optional(),
  provider: z.string().optional(),
});

interface TaskRun {
  readonly task: Submitted;
  readonly plan: HookPlan;
  readonly path: string;
  readonly answers: { readonly hook: PlannedHook; readonly status: number }[];
}

interface World {
  readonly client: Client;
  readonly upstream: FakeUpstream;
  readonly receiver: Receiver;
}

it("1,000 tasks of three providers end as their upstream says, with one callback each, although hooks are lost, repeated, reordered and forged", async () => {
  console.log(`seed ${SEED}`);
  await using receiver = await Receiver.start();
  await using upstream = await FakeUpstream.start();
  await using relay = await Workerd.start({
    vars: { ...LOCAL_VARS, CONNECTIONS: upstream.connections },
  });
  const { client } = relay;
  const verify = await client.verifier();
  /** Bodies of the verified callbacks, by path. */
  const bodies = new Map<string, string[]>();
  let checked = 0;
  // While they are fresh: a signature is valid for five minutes.
  const verifyNew = () => {
    for (const post of receiver.posts.slice(checked)) {
      const earlier = bodies.get(post.path) ?? [];
      bodies.set(post.path, [...earlier, JSON.stringify(verify(post))]);
    }
    checked = receiver.posts.length;
  };
  const timer = setInterval(verifyNew, 1_000);
  const runs = await runTasks({ client, upstream, receiver });
  const calledBack = () => new Set(receiver.posts.map(({ path }) => path)).size;
  await vi.waitUntil(() => calledBack() === TASKS, ENDED_WITHIN_MS).catch(() => undefined);
  await sleep(QUIET_MS);

  clearInterval(timer);
  verifyNew();
  const checkRun = async (run: TaskRun) => {
    const { json } = await client.ask("GET", `/v1/tasks/${run.task.id}`);
    const seen = seenOf(run, EndedTask.parse(json), bodies.get(run.path) ?? []);
    const expected = expectedOf(run, EndedTask.parse(json), upstream);
    if (isDeepStrictEqual(seen, expected)) return [];
    return [JSON.stringify({ id: run.task.id, plan: run.plan, seen, expected })];
  };
  const faults = await pMap(runs, checkRun, PARALLEL);
  expect(faults.flat()).toEqual([]);
  expect(relay.output).not.toMatch(/alarm\.failed|loop\.failed|internal error/);
  expect(upstream.polls.filter(({ status }) => status !== 200 && status !== 422)).toEqual([]);
  const counts = countsOf(runs);
  console.log(JSON.stringify(counts));
  for (const count of Object.values(counts)) expect(count).toBeGreaterThanOrEqual(TASKS / 20);
});

/** Submits every task, and sends its hooks while others are submitted. */
async function runTasks(world: World): Promise<TaskRun[]> {
  const random = seeded(SEED);
  const plans = Array.from({ length: TASKS / APIS.length + 1 }, () => APIS)
    .flat()
    .slice(0, TASKS)
    .map((api, i) => {
      return { api, plan: hookPlan(random, api.provider !== "ark"), path: `/${i}` };
    });
  const hooks: Promise<void>[] = [];
  const begin = async ({ api, plan, path }: (typeof plans)[number]) => {
    const { isKeyed } = plan;
    const callbackUrl = world.receiver.at(path, { kind: "answer", status: 200 });
    const fields = { metadata: { path } };
    const task = await submitted({ ...world, api, isKeyed, callbackUrl, fields });
    const run: TaskRun = { task, plan, path, answers: [] };
    hooks.push(sendHooks(world, run));
    return run;
  };
  const runs = await pMap(plans, begin, PARALLEL);
  await Promise.all(hooks);
  return runs;
}

async function sendHooks({ client, upstream }: World, run: TaskRun): Promise<void> {
  const { task, plan } = run;
  const send = async (hook: PlannedHook) => {
    await sleep(hook.afterMs);
    const headers = hook.isForged ? {} : undefined;
    const post = () => upstream.hook(task.api, task.jobId, hook.state, headers);
    let answer = await post();
    // Providers repeat a hook that the relay cannot verify yet.
    while (answer?.status === 503) {
      await sleep(REPEAT_AFTER_MS);
      answer = await post();
    }
    if (answer !== null) run.answers.push({ hook, status: answer.status });
  };
  upstream.set(task.jobId, "processing");
  const finished = sleep(plan.finishAfterMs).then(() => upstream.set(task.jobId, plan.end));
  const attached = sleep(plan.attachAfterMs).then(() => attach(client, task));
  const early = plan.early.map(send);
  if (plan.final !== null) {
    await send(plan.final);
    await Promise.all(plan.late.map(send));
  }
  await Promise.all([finished, attached, ...early]);
}

function seenOf({ answers }: TaskRun, task: EndedTask, posts: readonly string[]) {
  const { status, provider, callback, metadata, output, error, failure } = task;
  return {
    status,
    provider,
    callback: { status: callback?.status, attempts: callback?.attempts.map((one) => one.outcome) },
    labels: metadata,
    output,
    error,
    category: failure?.category,
    posts,
    answers: answers.map((answer) => answer.status),
  };
}

function expectedOf(
  { task, plan, path, answers }: TaskRun,
  read: EndedTask,
  upstream: FakeUpstream,
) {
  const isSuccess = plan.end === "completed";
  const { id, status, model, created_at, completed_at, output, error } = read;
  return {
    status: plan.end,
    provider: task.connection,
    callback: { status: "delivered", attempts: ["delivered"] },
    labels: { path },
    output: isSuccess ? outputOf(task.api, upstream.job(task.jobId)) : undefined,
    error: isSuccess ? undefined : { code: "upstream_error", message: REASON },
    category: isSuccess ? undefined : "provider",
    posts: [JSON.stringify({ id, status, model, created_at, completed_at, output, error })],
    answers: answers.map(({ hook }) => (isRefused(hook, task.api) ? 401 : 200)),
  };
}

/** A forged hook is refused if the provider signs; otherwise the upstream does not confirm it. */
function isRefused({ isForged }: PlannedHook, { provider }: UpstreamApi): boolean {
  return isForged && provider !== "ark";
}

function outputOf({ provider }: UpstreamApi, { url, seed }: Job) {
  const { aspect_ratio: ratio, duration, resolution } = PARAMETERS;
  const arks = provider === "ark" ? { generate_audio: true, framespersecond: 24 } : {};
  return { urls: [url], metadata: { seed, ratio, duration, resolution, ...arks } };
}

/** Counts the tasks that met each kind of disturbance. */
function countsOf(runs: readonly TaskRun[]) {
  const count = (fits: (run: TaskRun) => boolean) => runs.filter(fits).length;
  const late = (fits: (hook: PlannedHook, plan: HookPlan) => boolean) =>
    count(({ plan }) => plan.late.some((hook) => fits(hook, plan)));
  return {
    lost: count(({ plan }) => plan.final === null),
    beforeAttachment: count(({ plan }) => (plan.final?.afterMs ?? Infinity) < plan.attachAfterMs),
    repeated: late(({ state }, { end }) => state === end),
    reordered: late(({ state }) => state === "processing"),
    contradicted: late(({ state }, { end }) => state !== end && state !== "processing"),
    forged: count(({ answers }) => answers.some(({ hook }) => hook.isForged)),
    withoutKey: count(({ plan }) => !plan.isKeyed),
  };
}

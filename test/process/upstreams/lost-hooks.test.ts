import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { expect, it } from "vitest";
import * as z from "zod";
import { Client, SECRETS, Task } from "../harness/client.ts";
import { type HookPlan, hookPlan, type PlannedHook } from "./hook-plan.ts";
import { inParallel } from "../harness/parallel.ts";
import { type Post, Receiver } from "../harness/receiver.ts";
import { seeded } from "../harness/seeded.ts";
import { attach, type Submitted, submitted } from "./submission.ts";
import { until, Upstream } from "./fake-upstream.ts";
import { type Job, PARAMETERS, type UpstreamApi } from "./api.ts";
import { APIS } from "./apis.ts";
import { Workerd } from "../harness/workerd.ts";

const TASKS = 1_000;
const PARALLEL = 12;
/** The last polls come about 40 s after the last hook. */
const ENDED_WITHIN_MS = 220_000;
const QUIET_MS = 3_000;
/** Any other run is as good; this one can be had again with UPSTREAM_SEED. */
const SEED = Number(process.env["UPSTREAM_SEED"] ?? Math.floor(Math.random() * 1e9));

/** What these tests read of an ended task, beyond its callback. */
const Ended = Task.extend({
  model: z.string(),
  created_at: z.int(),
  completed_at: z.int().optional(),
  output: z.object({ urls: z.array(z.string()), metadata: z.looseObject({}) }).optional(),
  error: z.object({ code: z.string(), message: z.string() }).optional(),
  metadata: z.looseObject({}).optional(),
  provider: z.string().optional(),
});
type Ended = z.infer<typeof Ended>;

/** A task, what was planned for it, and how the relay answered its hooks. */
interface Life {
  readonly task: Submitted;
  readonly plan: HookPlan;
  readonly path: string;
  readonly answers: { readonly hook: PlannedHook; readonly status: number }[];
}

interface Run {
  readonly relay: Workerd;
  readonly client: Client;
  readonly upstream: Upstream;
  readonly receiver: Receiver;
}

it("1,000 tasks of six providers end right, each with one callback, whatever becomes of their hooks", async () => {
  console.log(`seed ${SEED}`);
  await using receiver = await Receiver.start();
  await using upstream = await Upstream.start();
  await using relay = await Workerd.start({
    vars: { ...SECRETS, ALLOW_LOCAL_CALLBACKS: "true", CONNECTIONS: upstream.connections },
  });
  const run: Run = { relay, client: new Client(relay), upstream, receiver };
  const lives = await allLives(run);
  const reached = () => new Set(receiver.posts.map(({ path }) => path)).size;
  await until(() => reached() === TASKS, ENDED_WITHIN_MS).catch(() => undefined);
  await sleep(QUIET_MS);

  const posts = Map.groupBy(receiver.posts, ({ path }) => path);
  const verify = await run.client.verifier();
  const faults = await inParallel(PARALLEL, lives, async (life) => {
    const read = await readTask(run.client, life.task.id);
    return faultsOf(life, read, posts.get(life.path) ?? [], upstream, verify);
  });
  console.log(figuresOf(lives, upstream));
  expect(faults.flat()).toEqual([]);
  expect(relay.output).not.toMatch(/alarm\.failed|loop\.failed|internal error/);
  expect(upstream.polls.filter(({ status }) => status !== 200 && status !== 422)).toEqual([]);
  expectATest(lives);
});

/** Starts every task, and plays its hooks while the others go on. */
async function allLives(run: Run): Promise<Life[]> {
  const random = seeded(SEED);
  const plans = Array.from({ length: TASKS }, (_, i) => {
    const api = APIS[i % APIS.length];
    if (api === undefined) throw new Error("there are no providers");
    const isBodySigned = api.provider === "replicate" || api.provider === "fal";
    return { api, plan: hookPlan(random, isBodySigned), path: `/${i}` };
  });
  const played: Promise<void>[] = [];
  const lives = await inParallel(PARALLEL, plans, async ({ api, plan, path }) => {
    const { isKeyed } = plan;
    const callbackUrl = run.receiver.at(path, { kind: "answer", status: 200 });
    const fields = { metadata: { path } };
    const task = await submitted({ ...run, api, isKeyed, callbackUrl, fields });
    const life: Life = { task, plan, path, answers: [] };
    played.push(play(run, life));
    return life;
  });
  await Promise.all(played);
  return lives;
}

async function play(run: Run, life: Life): Promise<void> {
  const { task, plan } = life;
  const send = async (hook: PlannedHook) => {
    await sleep(hook.afterMs);
    const headers = hook.isForged ? {} : undefined;
    const answer = await run.upstream.hook(task.api, task.jobId, hook.state, headers);
    if (answer !== null) life.answers.push({ hook, status: answer.status });
  };
  run.upstream.set(task.jobId, "processing");
  const finished = sleep(plan.finishAfterMs).then(() => run.upstream.set(task.jobId, plan.end));
  const attached = sleep(plan.attachAfterMs).then(() => attach(run.client, task));
  const early = plan.early.map(send);
  if (plan.told !== null) {
    await send(plan.told);
    await Promise.all(plan.late.map(send));
  }
  await Promise.all([finished, attached, ...early]);
}

async function readTask(client: Client, id: string): Promise<Ended> {
  return Ended.parse((await client.ask("GET", `/v1/tasks/${id}`)).json);
}

/** What a task, its callbacks and the answers to its hooks are, where it is not what they should be. */
function faultsOf(
  { task, plan, path, answers }: Life,
  read: Ended,
  posts: readonly Post[],
  upstream: Upstream,
  verify: (post: Post) => unknown,
): string[] {
  const { status, provider, callback, metadata, output, error } = read;
  const seen = {
    status,
    provider,
    callback: { status: callback?.status, attempts: callback?.attempts.map((one) => one.outcome) },
    labels: metadata,
    output,
    error: error?.code,
    posts: posts.map((post) => JSON.stringify(verify(post))),
    answers: answers.map((answer) => answer.status),
  };
  const isSuccess = plan.end === "completed";
  const expected = {
    status: plan.end,
    provider: task.connection,
    callback: { status: "delivered", attempts: ["delivered"] },
    labels: { path },
    output: isSuccess ? outputOf(task.api, upstream.job(task.jobId)) : undefined,
    error: isSuccess ? undefined : "upstream_error",
    posts: [bodyOf(read)],
    answers: answers.map(({ hook }) => (isRefused(hook, task.api) ? 401 : 200)),
  };
  if (isDeepStrictEqual(seen, expected)) return [];
  return [JSON.stringify({ id: task.id, plan, seen, expected })];
}

/** A forgery is refused where the provider signs; elsewhere the upstream does not confirm it. */
function isRefused({ isForged }: PlannedHook, { provider }: UpstreamApi): boolean {
  return isForged && ["replicate", "fal", "vidu"].includes(provider);
}

/** What the callback of a task should say, from what GET says of it. */
function bodyOf({ id, status, model, created_at, completed_at, output, error }: Ended): string {
  return JSON.stringify({ id, status, model, created_at, completed_at, output, error });
}

function outputOf({ provider }: UpstreamApi, { url, seed }: Job) {
  const { aspect_ratio: ratio, duration, resolution } = PARAMETERS;
  const arks = provider === "ark" ? { generate_audio: true, framespersecond: 24 } : {};
  const seeds = ["ark", "replicate", "fal"].includes(provider) ? { seed } : {};
  return { urls: [url], metadata: { ...seeds, ratio, duration, resolution, ...arks } };
}

/** The run has tried what it is named after. */
function expectATest(lives: readonly Life[]): void {
  const count = (fits: (life: Life) => boolean) => lives.filter(fits).length;
  const told = ({ plan }: Life) => plan.told?.afterMs ?? Infinity;
  const counts = {
    lost: count(({ plan }) => plan.told === null),
    beforeAttachment: count((life) => told(life) < life.plan.attachAfterMs),
    repeated: count(({ plan }) => plan.late.some(({ state }) => state === plan.end)),
    reordered: count(({ plan }) => plan.late.some(({ state }) => state === "processing")),
    contradicted: count(({ plan }) =>
      plan.late.some(({ state }) => state !== plan.end && state !== "processing"),
    ),
    forged: count(({ answers }) => answers.some(({ hook }) => hook.isForged)),
    withoutKey: count(({ plan }) => !plan.isKeyed),
  };
  console.log(JSON.stringify(counts));
  for (const each of Object.values(counts)) expect(each).toBeGreaterThanOrEqual(TASKS / 20);
}

function figuresOf(lives: readonly Life[], upstream: Upstream): string {
  const answers = lives.flatMap((life) => life.answers.map(({ status }) => String(status)));
  const counted = [...Map.groupBy(answers, (status) => status)];
  const hooks = counted.map(([status, same]) => `${same.length} answered ${status}`).join(", ");
  return `${lives.length} tasks; hooks: ${hooks}; ${upstream.polls.length} answered polls`;
}

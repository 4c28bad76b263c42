import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import pMap from "p-map";
import { type Client, LOCAL_VARS } from "../test/process/harness/client.ts";
import { Receiver } from "../test/process/harness/receiver.ts";
import { Workerd } from "../test/process/harness/workerd.ts";
import { type Durations, durationsOf, type FoundJob } from "./polls-jobs.ts";
import { CONNECTION, PollsUpstream } from "./polls-upstream.ts";

export interface LivePlan {
  readonly durations: Durations;
  /** Number of jobs whose attachments are spread over 30 s. */
  readonly jobs: number;
  /** Number of jobs that are attached at once. */
  readonly atOnce: number;
  readonly seed: number;
  /** Directory for the relay's storage. */
  readonly parent: string;
}

/** The jobs of a live run. The lateness of a job is the time from its end to the arrival of its callback. */
export interface LiveRun {
  readonly spread: readonly FoundJob[];
  readonly atOnce: readonly FoundJob[];
}

interface World {
  readonly upstream: PollsUpstream;
  readonly receiver: Receiver;
  readonly client: Client;
  /** Arrivals of callbacks in Unix milliseconds, by the path of the callback URL. */
  readonly arrivals: ReadonlyMap<string, number>;
}

/** Jobs that are attached together. */
interface Group {
  readonly count: number;
  /** Time in milliseconds over which the attachments are spread; 0 attaches all at once. */
  readonly spreadMs: number;
  readonly nextDurationMs: () => number;
}

interface AttachedJob {
  readonly id: string;
  readonly durationMs: number;
  readonly endsAt: number;
}

const SPREAD_MS = 30_000;
const REQUESTS_AT_ONCE = 50;
const GIVE_UP_AFTER_MS = 300_000;
const LOOK_EVERY_MS = 500;

/** Runs jobs without hooks against a new relay: first attached over 30 s, then many attached at once. */
export async function liveRun({
  durations,
  jobs,
  atOnce,
  seed,
  parent,
}: LivePlan): Promise<LiveRun> {
  const arrivals = new Map<string, number>();
  await using upstream = await PollsUpstream.start();
  await using receiver = await Receiver.start((path) => arrivals.set(path, Date.now()));
  const vars = { ...LOCAL_VARS, CONNECTIONS: upstream.connections };
  await using relay = await Workerd.start({ vars, parent, hasIndex: false });
  const world: World = { upstream, receiver, client: relay.client, arrivals };
  const nextDurationMs = durationsOf(durations, seed);
  const spread = await run({ count: jobs, spreadMs: SPREAD_MS, nextDurationMs }, world);
  return { spread, atOnce: await run({ count: atOnce, spreadMs: 0, nextDurationMs }, world) };
}

/** Registers tasks, attaches a job to each, and waits until the callbacks of all have arrived. */
async function run(group: Group, world: World): Promise<readonly FoundJob[]> {
  const { count, spreadMs } = group;
  const ids = Array.from({ length: count }, () => randomUUID());
  const requests = { concurrency: REQUESTS_AT_ONCE };
  await pMap(ids, (id) => register(id, world), requests);
  const startedAt = Date.now();
  const attached = await pMap(
    ids,
    async (id, index) => {
      await sleep(Math.max(0, startedAt + (index * spreadMs) / count - Date.now()));
      return attach(id, group, world);
    },
    requests,
  );
  console.log(`${count} jobs attached in ${Date.now() - startedAt} ms`);
  return found(attached, world);
}

async function register(id: string, { client, receiver }: World): Promise<void> {
  const callback = receiver.at(`/${id}`, { kind: "answer", status: 200 });
  await client.register({ id, provider: CONNECTION, model: "m", callback_url: callback });
}

async function attach(
  id: string,
  { nextDurationMs }: Group,
  { client, upstream }: World,
): Promise<AttachedJob> {
  const durationMs = nextDurationMs();
  const endsAt = Date.now() + durationMs;
  upstream.add(id, endsAt);
  const body = { provider: CONNECTION, id };
  const { status, text } = await client.ask("POST", `/v1/tasks/${id}/upstream`, body);
  if (status !== 200) throw new Error(`the attachment was answered with ${status} ${text}`);
  return { id, durationMs, endsAt };
}

/** Waits for the callbacks. @throws when one has not arrived 5 minutes after the end of the last job. */
async function found(
  jobs: readonly AttachedJob[],
  { upstream, arrivals }: World,
): Promise<readonly FoundJob[]> {
  const giveUpAt = Math.max(...jobs.map(({ endsAt }) => endsAt)) + GIVE_UP_AFTER_MS;
  while (jobs.some(({ id }) => !arrivals.has(`/${id}`))) {
    if (Date.now() > giveUpAt) throw new Error("a callback has not arrived");
    await sleep(LOOK_EVERY_MS);
  }
  return jobs.map(({ id, durationMs, endsAt }) => {
    const latenessMs = (arrivals.get(`/${id}`) ?? 0) - endsAt;
    return { durationMs, latenessMs, polls: upstream.pollsOf(id) };
  });
}

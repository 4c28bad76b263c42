import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod";
import { Client, completedEvent, SECRETS } from "../test/process/harness/client.ts";
import { seeded } from "../test/process/harness/seeded.ts";
import { objectFiles, storedRecord } from "../test/process/harness/stored-record.ts";
import { Workerd } from "../test/process/harness/workerd.ts";
import { MemoryLog, type Sample } from "./load-memory.ts";
import { type Arrival, type Kind, Receivers } from "./load-receivers.ts";

export interface LoadPlan {
  readonly tasks: number;
  readonly ratePerS: number;
  readonly scheduleS: readonly number[];
  /** Of hanging receivers, and the same again of failing ones. */
  readonly sickShare: number;
  /** Tasks for healthy receivers while the last attempts are waited for. */
  readonly trickleRatePerS: number;
  readonly seed: number;
  /** Where the storage lies. */
  readonly parent: string;
}

/** A task that was reported; times in Unix milliseconds. */
export interface Sent {
  readonly id: string;
  readonly kind: Kind;
  readonly sentAt: number;
  /** Null: there was no answer. */
  readonly status: number | null;
  readonly arrivals: readonly Arrival[];
  /** As it lies on the disk after the run. */
  readonly stored: StoredTask | undefined;
}

export interface LoadRun {
  readonly sent: readonly Sent[];
  /** Of all tasks but the trickle. */
  readonly wallMs: number;
  /** While tasks came at the full rate. */
  readonly samples: readonly Sample[];
  readonly start: Sample;
  readonly maxRssBytes: number;
  /** When nothing has come for a while. */
  readonly quiet: Sample;
  readonly trickled: number;
}

export type StoredTask = z.infer<typeof StoredTask>;
const StoredTask = z.object({
  id: z.string(),
  callback: z.object({
    attempts: z.array(
      z.object({
        number: z.int(),
        startedAt: z.int(),
        durationMs: z.int(),
        outcome: z.string(),
      }),
    ),
    state: z.object({ kind: z.string() }),
  }),
});

const TIMEOUT_MS = 10_000;
const SETTLE_MS = 2_000;
/** Objects leave memory after some 10 s without a request. */
const QUIET_MS = 30_000;
const GIVE_UP_AFTER_MS = 60_000;
/** A relay that is slower than the rate is not buried. */
const MAX_AT_ONCE = 256;

type Reported = Pick<Sent, "id" | "kind" | "sentAt" | "status">;

/** One relay, all its tasks, and the end of the last attempt. */
export async function loadRun(plan: LoadPlan): Promise<LoadRun> {
  await using receivers = await Receivers.start();
  await using relay = await relayOf(plan);
  const client = new Client(relay);
  const reports: Reported[] = [];
  let accepted = 0;
  const report = async (kind: Kind): Promise<void> => {
    const id = randomUUID();
    const event = completedEvent(id, receivers.url(kind, id));
    const sentAt = Date.now();
    const status = await statusOf(client, event);
    if (status === 202) accepted++;
    reports.push({ id, kind, sentAt, status });
  };

  await sleep(SETTLE_MS);
  using memory = new MemoryLog(relay.pid ?? 0, () => accepted);
  const start = memory.now();
  const kindOf = kinds(plan);
  const startedAt = performance.now();
  await paced(plan.tasks, plan.ratePerS, () => report(kindOf()));
  const wallMs = performance.now() - startedAt;
  const samples = [...memory.samples];

  const mainLoad = [...reports];
  const isOver = () => mainLoad.every((task) => haveArrived(task, plan, receivers));
  await trickle(plan, isOver, () => report("healthy"));
  await sleep(TIMEOUT_MS + SETTLE_MS + QUIET_MS);
  const quiet = memory.now();
  memory[Symbol.dispose]();
  await relay.kill9();

  const stored = storedTasks(relay.storage);
  return {
    sent: reports.map((task) => ({
      ...task,
      arrivals: receivers.of(task.id),
      stored: stored.get(task.id),
    })),
    wallMs,
    samples,
    start,
    maxRssBytes: Math.max(...memory.samples.map(({ rssBytes }) => rssBytes)),
    quiet,
    trickled: reports.length - mainLoad.length,
  };
}

function relayOf({ scheduleS, parent }: LoadPlan): Promise<Workerd> {
  const vars = {
    ...SECRETS,
    CALLBACK_SCHEDULE_S: scheduleS.join(","),
    CALLBACK_TIMEOUT_S: String(TIMEOUT_MS / 1000),
    ALLOW_LOCAL_CALLBACKS: "true",
  };
  return Workerd.start({ vars, parent });
}

/** New tasks, few at a time, until all attempts of the others have come or should have. */
async function trickle(
  { scheduleS, trickleRatePerS }: LoadPlan,
  isOver: () => boolean,
  report: () => Promise<void>,
): Promise<void> {
  const waitsMs = scheduleS.reduce((sum, waitS) => sum + waitS * 1000 + TIMEOUT_MS, 0);
  const giveUpAt = Date.now() + waitsMs + GIVE_UP_AFTER_MS;
  // Looked at once a second: there are many to look at.
  while (!isOver() && Date.now() < giveUpAt) await paced(trickleRatePerS, trickleRatePerS, report);
}

function haveArrived(
  { id, kind, status }: Reported,
  plan: LoadPlan,
  receivers: Receivers,
): boolean {
  const owed = kind === "healthy" ? 1 : plan.scheduleS.length;
  return status !== 202 || receivers.of(id).length >= owed;
}

/** Begins so many pieces of work at this rate, and waits for the last one. */
async function paced(count: number, ratePerS: number, work: () => Promise<void>): Promise<void> {
  const startedAt = performance.now();
  const running = new Set<Promise<void>>();
  for (let i = 0; i < count; i++) {
    const inMs = startedAt + (i * 1000) / ratePerS - performance.now();
    if (inMs > 1) await sleep(inMs);
    if (running.size >= MAX_AT_ONCE) await Promise.race(running);
    const one = work().finally(() => running.delete(one));
    running.add(one);
  }
  await Promise.all(running);
  await sleep(Math.max(0, startedAt + (count * 1000) / ratePerS - performance.now()));
}

/** Which receiver each task has: the same ones for the same seed. */
function kinds({ seed, sickShare }: LoadPlan): () => Kind {
  const random = seeded(seed);
  return () => {
    const place = random();
    if (place < sickShare) return "hangs";
    return place < 2 * sickShare ? "fails" : "healthy";
  };
}

async function statusOf(client: Client, event: object): Promise<number | null> {
  try {
    return (await client.ask("POST", "/v1/events", event)).status;
  } catch {
    return null;
  }
}

function storedTasks(storage: string): Map<string, StoredTask> {
  const files = objectFiles(join(storage, "tasks"));
  const tasks = files.flatMap((file) => StoredTask.safeParse(storedRecord(file)).data ?? []);
  return new Map(tasks.map((task) => [task.id, task]));
}

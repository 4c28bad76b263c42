import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod";
import { Client, completedEvent, SECRETS } from "../test/process/harness/client.ts";
import { seeded } from "../test/simulation/random.ts";
import { objectFiles, storedRecord } from "../test/process/harness/stored-record.ts";
import { Workerd } from "../test/process/harness/workerd.ts";
import { MemoryLog, type Sample } from "./load-memory.ts";
import { type Arrival, type Kind, Receivers } from "./load-receivers.ts";
import { paced } from "./paced.ts";

export interface LoadPlan {
  readonly tasks: number;
  readonly ratePerS: number;
  readonly scheduleS: readonly number[];
  /**
   * Fraction of the tasks whose receiver hangs, and fraction of those whose receiver fails; each from 0 to
   * 0.5.
   */
  readonly sickShare: number;
  /** Rate of tasks for healthy receivers while the run waits for the last attempts. */
  readonly trickleRatePerS: number;
  readonly seed: number;
  /** Directory for the relay's storage. */
  readonly parent: string;
}

/** Task whose end was reported to the relay; times in Unix milliseconds. */
export interface Sent {
  readonly id: string;
  readonly kind: Kind;
  readonly sentAt: number;
  /** HTTP status of the relay's answer; null when there was none. */
  readonly status: number | null;
  readonly arrivals: readonly Arrival[];
  /** Record of the task as stored after the run; undefined when there is none. */
  readonly stored: StoredTask | undefined;
}

export interface LoadRun {
  readonly sent: readonly Sent[];
  /** Time in milliseconds in which all tasks were reported, except those of the low rate after the load. */
  readonly wallMs: number;
  /** Samples taken while tasks came at the full rate. */
  readonly samples: readonly Sample[];
  readonly start: Sample;
  readonly maxRssBytes: number;
  /** Sample of the process after 30 s without requests. */
  readonly quiet: Sample;
  /** Number of tasks that were reported at the low rate after the load. */
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
/** Time without requests in milliseconds, longer than the 10 s after which an idle object leaves memory. */
const QUIET_MS = 30_000;
const GIVE_UP_AFTER_MS = 60_000;

type Reported = Pick<Sent, "id" | "kind" | "sentAt" | "status">;

/** Runs the plan against a new relay, until the last attempt has ended. */
export async function loadRun(plan: LoadPlan): Promise<LoadRun> {
  await using receivers = await Receivers.start();
  await using relay = await startRelay(plan);
  const client = new Client(relay);
  const reports: Reported[] = [];
  let accepted = 0;
  const report = async (kind: Kind): Promise<void> => {
    const id = randomUUID();
    const event = completedEvent(id, receivers.url(kind, id));
    const sentAt = Date.now();
    const status = await send(client, event);
    if (status === 202) accepted++;
    reports.push({ id, kind, sentAt, status });
  };

  await sleep(SETTLE_MS);
  using memory = new MemoryLog(relay.pid ?? 0, () => accepted);
  const start = memory.sample();
  const nextKind = kindGenerator(plan);
  const startedAt = performance.now();
  await paced(plan.tasks, plan.ratePerS, () => report(nextKind()));
  const wallMs = performance.now() - startedAt;
  const samples = [...memory.samples];

  const mainLoad = [...reports];
  const isOver = () => mainLoad.every((task) => hasAllAttempts(task, plan, receivers));
  await trickle(plan, isOver, () => report("healthy"));
  await sleep(TIMEOUT_MS + SETTLE_MS + QUIET_MS);
  const quiet = memory.sample();
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

function startRelay({ scheduleS, parent }: LoadPlan): Promise<Workerd> {
  const vars = {
    ...SECRETS,
    CALLBACK_SCHEDULE_S: scheduleS.join(","),
    CALLBACK_TIMEOUT_S: String(TIMEOUT_MS / 1000),
    ALLOW_LOCAL_CALLBACKS: "true",
  };
  return Workerd.start({ vars, parent, hasIndex: false });
}

/** Reports further tasks at a low rate, until all attempts of the others have arrived or are overdue. */
async function trickle(
  { scheduleS, trickleRatePerS }: LoadPlan,
  isOver: () => boolean,
  report: () => Promise<void>,
): Promise<void> {
  const waitsMs = scheduleS.reduce((sum, waitS) => sum + waitS * 1000 + TIMEOUT_MS, 0);
  const giveUpAt = Date.now() + waitsMs + GIVE_UP_AFTER_MS;
  // The end is checked once a second, because each check goes through all tasks.
  while (!isOver() && Date.now() < giveUpAt) await paced(trickleRatePerS, trickleRatePerS, report);
}

function hasAllAttempts(
  { id, kind, status }: Reported,
  plan: LoadPlan,
  receivers: Receivers,
): boolean {
  const owed = kind === "healthy" ? 1 : plan.scheduleS.length;
  return status !== 202 || receivers.of(id).length >= owed;
}

/** Returns a generator of receiver kinds, which yields the same sequence for the same seed. */
function kindGenerator({ seed, sickShare }: LoadPlan): () => Kind {
  const random = seeded(seed);
  return () => {
    const draw = random();
    if (draw < sickShare) return "hangs";
    return draw < 2 * sickShare ? "fails" : "healthy";
  };
}

async function send(client: Client, event: object): Promise<number | null> {
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
